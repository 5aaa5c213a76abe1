// Sparse matrices that were looked at once, when they were made: kernels index them without looking again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "support/arrays.hpp"
#include "support/at.hpp"
#include "support/csr.hpp"
#include "support/gil.hpp"

namespace wordferry {

template <class Value>
class CsrView {
 public:
  CsrView(const In<std::int64_t>& indptr, const In<std::int32_t>& indices, const In<Value>& data, std::int64_t columns)
      : csr_{indptr.data(), indices.data(), data.data(), indptr.length() - 1}, columns_(columns),
        held_(hold(indptr, indices, data)) {
    const ReleasedGil released;
    require(columns >= 0 && columns <= std::numeric_limits<std::int32_t>::max(), "columns must fit in an int32");
    require(rows() >= 0, "indptr must have at least one element");
    require(csr_.indptr[0] >= 0, "indptr must not be negative");
    bool rises = true;
    for (std::int64_t i = 0; i < rows(); ++i) rises &= csr_.indptr[i + 1] >= csr_.indptr[i];
    require(rises, "indptr must not fall");
    require(csr_.indptr[rows()] <= indices.length() && data.length() == indices.length(),
            "indptr, indices and data must agree in length");
    check_rows(indices.length());
    if constexpr (std::is_integral_v<Value>) check_weights();
  }

  // These rows over at least `columns` columns: whatever was in range still is, so nothing is checked again.
  CsrView widened(std::int64_t columns) const {
    CsrView other = *this;
    other.columns_ = std::max(columns_, columns);
    return other;
  }

  const Csr<Value>& get() const { return csr_; }
  std::int64_t rows() const { return csr_.rows; }
  std::int64_t columns() const { return columns_; }
  bool sorted() const { return sorted_; }               // every row rises, without a word twice
  std::int32_t largest() const { return largest_; }     // the largest index, -1 when there is none
  Value largest_sum() const { return largest_sum_; }    // of whole weights: the heaviest row,
  Value smallest_sum() const { return smallest_sum_; }  // and the lightest that is not empty
  // Of whole weights: every word that stands in a row, rising.
  const std::vector<std::int32_t>& words() const { return words_; }

 private:
  void check_rows(std::int64_t stored) {
    std::int32_t low = 0;
    for (std::int64_t k = 0; k < stored; ++k) {
      low = std::min(low, csr_.indices[k]);
      largest_ = std::max(largest_, csr_.indices[k]);
    }
    require(low >= 0 && largest_ < columns_, "indices must lie in 0 .. columns - 1");
    for (std::int64_t i = 0; i < rows(); ++i) {
      for (std::int64_t k = csr_.indptr[i] + 1; k < csr_.indptr[i + 1]; ++k) {
        sorted_ &= csr_.indices[k] > csr_.indices[k - 1];
      }
    }
  }

  void check_weights() {
    require(sorted_, "the words of a row must rise, and none may come twice");
    std::vector<char> stands(at(largest_) + 1, 0);
    for (std::int64_t i = 0; i < rows(); ++i) {
      Value sum = 0;
      for (std::int64_t k = csr_.indptr[i]; k < csr_.indptr[i + 1]; ++k) {
        require(csr_.data[k] >= 1 && csr_.data[k] <= largest_mass - sum, "weights must be positive and fit in 2^61");
        sum += csr_.data[k];
        stands[at(csr_.indices[k])] = 1;
      }
      largest_sum_ = std::max(largest_sum_, sum);
      if (sum > 0) smallest_sum_ = std::min(smallest_sum_, sum);
    }
    for (std::int32_t word = 0; word <= largest_; ++word) {
      if (stands[at(word)] != 0) words_.push_back(word);
    }
  }

  Csr<Value> csr_;
  std::int64_t columns_;
  Held held_;
  std::int32_t largest_ = -1;
  bool sorted_ = true;
  Value largest_sum_ = 0, smallest_sum_ = std::numeric_limits<Value>::max();
  std::vector<std::int32_t> words_;
};

using FloatView = CsrView<float>;
using WholeView = CsrView<std::int64_t>;

}  // namespace wordferry
