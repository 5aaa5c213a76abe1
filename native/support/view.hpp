// Sparse matrices that were looked at once, when they were made: kernels index them without looking again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/arrays.hpp"
#include "support/csr.hpp"
#include "support/gil.hpp"

namespace wordferry {

template <class Value>
class CsrView {
 public:
  CsrView(In<std::int64_t> indptr, In<std::int32_t> indices, In<Value> data, std::int64_t columns)
      : indptr_(std::move(indptr)), indices_(std::move(indices)), data_(std::move(data)), columns_(columns) {
    const ReleasedGil released;
    check_shape();
    check_rows();
    if constexpr (std::is_integral_v<Value>) check_weights();
  }

  // These rows over at least `columns` columns: whatever was in range still is, so nothing is checked again.
  CsrView widened(std::int64_t columns) const {
    CsrView other = *this;
    other.columns_ = std::max(columns_, columns);
    return other;
  }

  Csr<Value> get() const { return {indptr_.data(), indices_.data(), data_.data(), rows()}; }
  std::int64_t rows() const { return indptr_.length() - 1; }
  std::int64_t columns() const { return columns_; }
  bool sorted() const { return sorted_; }               // every row rises, without a word twice
  std::int32_t largest() const { return largest_; }     // the largest index, -1 when there is none
  Value largest_sum() const { return largest_sum_; }    // of whole weights: the heaviest row,
  Value smallest_sum() const { return smallest_sum_; }  // and the lightest that is not empty
  // Of whole weights: every word that stands in a row, rising.
  const std::vector<std::int32_t>& words() const { return words_; }

 private:
  void check_shape() const {
    require(columns_ >= 0 && columns_ <= std::numeric_limits<std::int32_t>::max(), "columns must fit in an int32");
    require(indptr_.length() > 0, "indptr must have at least one element");
    const std::int64_t* starts = indptr_.data();
    require(starts[0] >= 0, "indptr must not be negative");
    bool rises = true;
    for (std::int64_t i = 1; i < indptr_.length(); ++i) rises &= starts[i] >= starts[i - 1];
    require(rises, "indptr must not fall");
    require(starts[rows()] <= indices_.length() && data_.length() == indices_.length(),
            "indptr, indices and data must agree in length");
  }

  void check_rows() {
    std::int32_t low = 0;
    for (std::int64_t k = 0; k < indices_.length(); ++k) {
      low = std::min(low, indices_.data()[k]);
      largest_ = std::max(largest_, indices_.data()[k]);
    }
    require(low >= 0 && largest_ < columns_, "indices must lie in 0 .. columns - 1");
    for (std::int64_t i = 0; i < rows(); ++i) {
      for (std::int64_t k = indptr_.data()[i] + 1; k < indptr_.data()[i + 1]; ++k) {
        sorted_ &= indices_.data()[k] > indices_.data()[k - 1];
      }
    }
  }

  void check_weights() {
    require(sorted_, "the words of a row must rise, and none may come twice");
    std::vector<char> stands(static_cast<std::size_t>(largest_) + 1, 0);
    for (std::int64_t i = 0; i < rows(); ++i) {
      Value sum = 0;
      for (std::int64_t k = indptr_.data()[i]; k < indptr_.data()[i + 1]; ++k) {
        require(data_.data()[k] >= 1 && data_.data()[k] <= largest_mass - sum,
                "weights must be positive and fit in 2^61");
        sum += data_.data()[k];
        stands[static_cast<std::size_t>(indices_.data()[k])] = 1;
      }
      largest_sum_ = std::max(largest_sum_, sum);
      if (sum > 0) smallest_sum_ = std::min(smallest_sum_, sum);
    }
    for (std::int32_t word = 0; word <= largest_; ++word) {
      if (stands[static_cast<std::size_t>(word)] != 0) words_.push_back(word);
    }
  }

  In<std::int64_t> indptr_;
  In<std::int32_t> indices_;
  In<Value> data_;
  std::int64_t columns_;
  std::int32_t largest_ = -1;
  bool sorted_ = true;
  Value largest_sum_ = 0, smallest_sum_ = std::numeric_limits<Value>::max();
  std::vector<std::int32_t> words_;
};

using FloatView = CsrView<float>;
using WholeView = CsrView<std::int64_t>;

}  // namespace wordferry
