// Sparse matrices that were looked at once, when they were made: kernels index them without looking again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "support/at.hpp"
#include "support/bind.hpp"
#include "support/csr.hpp"

namespace wordferry {

template <class Value>
struct CsrView : Csr<Value> {
  using Csr<Value>::indptr, Csr<Value>::indices, Csr<Value>::data, Csr<Value>::rows;

  CsrView(const In<std::int64_t>& ends, const In<std::int32_t>& places, const In<Value>& values, std::int64_t width)
      : Csr<Value>{ends.data(), places.data(), values.data(), ends.length() - 1}, columns(width),
        held(hold(ends, places, values)) {
    const ReleasedGil released;
    require(columns >= 0 && columns <= std::numeric_limits<std::int32_t>::max(), "columns must fit in an int32");
    require(rows >= 0, "indptr must have at least one element");
    require(indptr[0] >= 0, "indptr must not be negative");
    bool rises = true;
    for (std::int64_t i = 0; i < rows; ++i) rises &= indptr[i + 1] >= indptr[i];
    require(rises, "indptr must not fall");
    require(indptr[rows] <= places.length() && values.length() == places.length(),
            "indptr, indices and data must agree in length");
    check_rows(places.length());
    if constexpr (std::is_integral_v<Value>) check_weights();
  }

  // These rows over at least `most` columns: whatever was in range still is, so nothing is checked again.
  CsrView widened(std::int64_t most) const {
    CsrView other = *this;
    other.columns = std::max(columns, most);
    return other;
  }

  std::int64_t columns;
  Held held;
  std::int32_t largest = -1;  // the largest index, -1 when there is none
  bool sorted = true;         // every row rises, without a word twice
  // Of whole weights: the heaviest row, the lightest that is not empty, and every word that stands in a row, rising.
  Value largest_sum = 0, smallest_sum = std::numeric_limits<Value>::max();
  std::vector<std::int32_t> words;

 private:
  void check_rows(std::int64_t stored) {
    std::int32_t low = 0;
    for (std::int64_t k = 0; k < stored; ++k) {
      low = std::min(low, indices[k]);
      largest = std::max(largest, indices[k]);
    }
    require(low >= 0 && largest < columns, "indices must lie in 0 .. columns - 1");
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t k = indptr[i] + 1; k < indptr[i + 1]; ++k) sorted &= indices[k] > indices[k - 1];
    }
  }

  void check_weights() {
    require(sorted, "the words of a row must rise, and none may come twice");
    std::vector<char> stands(at(largest) + 1, 0);
    for (std::int64_t i = 0; i < rows; ++i) {
      Value sum = 0;
      for (std::int64_t k = indptr[i]; k < indptr[i + 1]; ++k) {
        require(data[k] >= 1 && data[k] <= largest_mass - sum, "weights must be positive and fit in 2^61");
        sum += data[k];
        stands[at(indices[k])] = 1;
      }
      largest_sum = std::max(largest_sum, sum);
      if (sum > 0) smallest_sum = std::min(smallest_sum, sum);
    }
    for (std::int32_t word = 0; word <= largest; ++word) {
      if (stands[at(word)] != 0) words.push_back(word);
    }
  }
};

using FloatView = CsrView<float>;
using WholeView = CsrView<std::int64_t>;

// Whole masses multiply to equal sums: each row's by the other's total over their common divisor.
inline void require_multiplies(std::int64_t largest_x, std::int64_t smallest_x, std::int64_t largest_y,
                               std::int64_t smallest_y) {
  if (largest_x == 0 || largest_y == 0) return;
  const bool equal = largest_x == smallest_x && largest_y == smallest_y && largest_x == largest_y;
  require(equal || largest_x < largest_mass / largest_y, "the weights of two documents multiply to more than 2^61");
}

}  // namespace wordferry
