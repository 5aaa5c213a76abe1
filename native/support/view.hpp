// A checked CSR argument: kernels index without looking, so nothing gets to them that could lead outside.
#pragma once

#include <algorithm>
#include <utility>

#include "support/bind.hpp"

namespace wordferry {

class CsrView {
 public:
  CsrView(In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, std::int64_t columns)
      : indptr_(std::move(indptr)), indices_(std::move(indices)), data_(std::move(data)), columns_(columns) {
    const std::size_t rows = indptr_.shape(0);
    if (rows == 0) throw nb::value_error("indptr must have at least one element");
    const std::int64_t* starts = indptr_.data();
    if (starts[0] < 0) throw nb::value_error("indptr must not be negative");
    for (std::size_t i = 1; i < rows; ++i) {
      if (starts[i] < starts[i - 1]) throw nb::value_error("indptr must not fall");
    }
    const auto stored = static_cast<std::int64_t>(indices_.shape(0));
    if (starts[rows - 1] > stored || data_.shape(0) != indices_.shape(0)) {
      throw nb::value_error("indptr, indices and data must agree in length");
    }
    std::int32_t low = 0, high = -1;
    for (std::int64_t k = 0; k < stored; ++k) {
      low = std::min(low, indices_.data()[k]);
      high = std::max(high, indices_.data()[k]);
    }
    if (low < 0 || high >= columns) throw nb::value_error("indices must lie in 0 .. columns - 1");
  }

  // The same rows over at least so many columns: whatever was in range still is, so nothing is checked again.
  CsrView widened(std::int64_t columns) const {
    CsrView other = *this;
    other.columns_ = std::max(columns_, columns);
    return other;
  }

  CsrF get() const { return csr(indptr_, indices_, data_); }
  std::int64_t rows() const { return static_cast<std::int64_t>(indptr_.shape(0)) - 1; }
  std::int64_t columns() const { return columns_; }

 private:
  In<std::int64_t> indptr_;
  In<std::int32_t> indices_;
  In<float> data_;
  std::int64_t columns_;
};

// Refuses two arguments that do not fit together.
inline void require(bool fits, const char* message) {
  if (!fits) throw nb::value_error(message);
}

inline bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 64 == 0; }

}  // namespace wordferry
