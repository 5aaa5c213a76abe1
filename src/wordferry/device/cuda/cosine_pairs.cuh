// Cosine distances of chosen pairs, with the order of sums and the rounding of the kernels of the CPU.
#pragma once

#include "lanes.cuh"

namespace wordferry {

// The product of two rows, in two sums by turns over the words of the first; words rise in the second. A lane is a
// word.
WF_DEVICE float product_of(const Documents& x, Index i, const Documents& y, Index j) {
  float even = 0, odd = 0;
  const Index end = x.indptr[i + 1], other = y.indptr[j];
  const int count = static_cast<int>(y.indptr[j + 1] - other);
  for (Index first = x.indptr[i]; first < end; first += 32) {
    Lanes<int> place;
    Lanes<bool> shared;
    WF_LANES(lane) {
      place[lane] = first + lane < end ? place_among(y.words + other, count, x.words[first + lane]) : -1;
      shared[lane] = place[lane] >= 0;
    }
    for (unsigned left = warp_ballot(shared); left != 0; left &= left - 1) {
      const int k = lowest_bit(left);
      const float mass = x.masses[first + k], own = y.masses[other + warp_from(place, k)];
      even = k % 2 == 0 ? unfused(mass, own, even) : even;
      odd = k % 2 == 1 ? unfused(mass, own, odd) : odd;
    }
  }
  return even + odd;
}

// Half the squared difference of two rows of length 1, in both of which words rise.
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

// rows of x and columns, which are rows of y, make the pairs, of which a warp has 32. x in the order of its sums, and
// both sides with words in rising order. Distances below `lost` have lost digits in 1 - product.
WF_KERNEL(cosines_of_pairs)
(const long long* rows, const long long* columns, wordferry::Index count, const wordferry::Index* sum_indptr,
 const int* sum_words, const float* sum_masses, const wordferry::Index* x_indptr, const int* x_words,
 const float* x_masses, const wordferry::Index* y_indptr, const int* y_words, const float* y_masses, float lost,
 float* values) {
  using namespace wordferry;
  const Documents summed{sum_indptr, sum_words, sum_masses}, x{x_indptr, x_words, x_masses};
  const Documents y{y_indptr, y_words, y_masses};
  WF_WARPS(warp) {
    const Index first = (block_number() * warp_total() + warp) * 32;
    Lanes<float> value;
    for (int k = 0; k < 32 && first + k < count; ++k) {
      const float product = product_of(summed, rows[first + k], y, columns[first + k]);
      WF_LANES(lane) {
        if (lane == k) value[lane] = 1.0f - product;
      }
    }
    WF_LANES(lane) {
      const Index pair = first + lane;
      if (pair < count) values[pair] = value[lane] < lost ? half_square(x, rows[pair], y, columns[pair]) : value[lane];
    }
  }
}
