// Cosine distances that lose digits in 1 - product: half the squared difference of two rows of length 1, with the order of
// sums and the rounding of the CPU. Words rise in each document; a lane is a pair.
#pragma once

#include "lanes.cuh"

namespace wordferry {

WF_DEVICE float half_square(const Documents& x, Index i, const Documents& y, Index j) {
  Index a = x.indptr[i], b = y.indptr[j];
  const Index a_end = x.indptr[i + 1], b_end = y.indptr[j + 1];
  double sum = 0;
  while (a < a_end || b < b_end) {
    const int p = a < a_end ? x.words[a] : 0x7fffffff, q = b < b_end ? y.words[b] : 0x7fffffff;
    const double left = p <= q ? static_cast<double>(x.masses[a++]) : 0.0;
    const double right = q <= p ? static_cast<double>(y.masses[b++]) : 0.0;
    sum = unfused(left - right, left - right, sum);
  }
  return static_cast<float>(0.5 * sum);
}

}  // namespace wordferry

// values[row, column] of a block from (first_row, first_column) on, `stride` columns wide, at the chosen `places`.
WF_KERNEL(refine_cosines)
(float* values, wordferry::Index stride, wordferry::Index first_row, wordferry::Index first_column,
 const long long* places, wordferry::Index count, const wordferry::Index* x_indptr, const int* x_words,
 const float* x_masses, const wordferry::Index* y_indptr, const int* y_words, const float* y_masses) {
  using namespace wordferry;
  WF_WARPS(warp) {
    WF_LANES(lane) {
      const Index pair = (block_number() * warp_total() + warp) * 32 + lane;
      if (pair < count) {
        const Index place = places[pair];
        values[place] = half_square({x_indptr, x_words, x_masses}, first_row + place / stride,
                                    {y_indptr, y_words, y_masses}, first_column + place % stride);
      }
    }
  }
}
