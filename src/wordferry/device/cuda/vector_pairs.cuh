// rwmd of chosen pairs, with the order of sums and the rounding of the kernels of the CPU: first the least costs, by a
// warp for every 32 words of x, so that long documents do not keep the others waiting, then the sums.
#pragma once

#include "lanes.cuh"
#include "word_costs.cuh"

namespace wordferry {

// One document of a pair: its words and masses, its vectors, and what is found of each word: the least cost onto
// another word of the other document, as bits, and the other document's own mass of the word.
struct Side {
  const int* words;
  const float* masses;
  Chosen chosen;
  unsigned* nearest;
  float* own;
};

WF_DEVICE Side side_of(const Documents& documents, Index document, const int* numbers, const Vectors& vectors,
                       unsigned* nearest, float* own) {
  const Index begin = documents.indptr[document], count = documents.indptr[document + 1] - begin;
  const int* words = documents.words == nullptr ? nullptr : documents.words + begin;
  return {words, documents.masses + begin, {vectors, numbers + begin, count}, nearest, own};
}

// Costs of 32 words of x with 32 of y, entered as the least of both. A word without a vector is `far` from all others.
WF_DEVICE void enter_tile(const Side& x, Index first, const Side& y, Index left, float far, float* memory) {
  LaneArray<float, cost_rows> product;
  tile_products(x.chosen, first, y.chosen, left, memory, product);
  Lanes<unsigned> least;
  WF_LANES(lane) least[lane] = bits_of(no_cost);
  WF_UNROLL
  for (int r = 0; r < cost_rows; ++r) {
    if (first + r < x.chosen.count) {
      Lanes<unsigned> cost;
      WF_LANES(lane) {
        const Index i = first + r, j = left + lane;
        cost[lane] = bits_of(no_cost);
        if (j < y.chosen.count && x.words[i] == y.words[j]) {
          x.own[i] = y.masses[j];
          y.own[j] = x.masses[i];
        } else if (j < y.chosen.count) {
          const Index a = number_of(x.chosen, i), b = number_of(y.chosen, j);
          const bool known = a >= 0 && b >= 0;
          cost[lane] =
              bits_of(known ? distance_by_product(product(lane, r), x.chosen.vectors, a, y.chosen.vectors, b) : far);
        }
        least[lane] = cost[lane] < least[lane] ? cost[lane] : least[lane];
      }
      const unsigned found = warp_least(cost);
      WF_LANES(lane) {
        if (lane == 0) atomic_least(x.nearest + first + r, found);
      }
    }
  }
  WF_LANES(lane) {
    const Index j = left + lane;
    if (j < y.chosen.count) atomic_least(y.nearest + j, least[lane]);
  }
  WF_FENCE();
}

// What moves of one document, times its costs. Words without a vector are a sum of their own, which is exact.
WF_DEVICE float moved(const Side& side, float far, bool keep) {
  float sum = 0, unknown = 0;
  for (Index k = 0; k < side.chosen.count; ++k) {
    const float own = side.own[k], nearest = keep && own > 0 ? 0.0f : float_of(side.nearest[k]);
    const float mass = keep ? side.masses[k] : greater(side.masses[k] - own, 0.0f);
    if (number_of(side.chosen, k) >= 0) {
      sum = unfused(mass, nearest, sum);
    } else if (nearest > 0) {
      unknown += mass;
    }
  }
  return unfused(far, unknown, sum);
}

}  // namespace wordferry

// rows of x and columns, which are rows of y, make the pairs. x_numbers and y_numbers are the vectors of all words (-1:
// none). `nearest` and `own` have room for the words of a pair from `offsets` on, those of x first; they start as
// `no_cost` and 0. A block is the pair pairs[block], and words of x from 32 * (block - the first block of the pair) on.
WF_KERNEL(nearest_of_pairs)
(const long long* rows, const long long* columns, const long long* offsets, const wordferry::Index* x_indptr,
 const int* x_words, const float* x_masses, const int* x_numbers, const float* x_values, const float* x_squares,
 const wordferry::Index* y_indptr, const int* y_words, const float* y_masses, const int* y_numbers,
 const float* y_values, const float* y_squares, wordferry::Index dimensions, float far, unsigned* nearest, float* own,
 const long long* pairs, const long long* first_blocks) {
  using namespace wordferry;
  const Index pair = pairs[block_number()], row = rows[pair], other = columns[pair];
  const Index room = offsets[pair], after = room + x_indptr[row + 1] - x_indptr[row];
  const Side x = side_of({x_indptr, x_words, x_masses}, row, x_numbers, {x_values, x_squares, dimensions},
                         nearest + room, own + room);
  const Side y = side_of({y_indptr, y_words, y_masses}, other, y_numbers, {y_values, y_squares, dimensions},
                         nearest + after, own + after);
  WF_WARPS(warp) {
    static_cast<void>(warp);
    for (Index left = 0; left < y.chosen.count; left += 32) {
      enter_tile(x, cost_rows * (block_number() - first_blocks[pair]), y, left, far,
                 reinterpret_cast<float*>(shared_memory()));
    }
  }
}

// The values of the pairs, from what nearest_of_pairs has found. side: 0 both, 1 left, 2 right. A lane is a pair.
WF_KERNEL(sums_of_pairs)
(const long long* rows, const long long* columns, wordferry::Index count, const long long* offsets,
 const wordferry::Index* x_indptr, const float* x_masses, const int* x_numbers, const wordferry::Index* y_indptr,
 const float* y_masses, const int* y_numbers, float far, int keep, int side, unsigned* nearest, float* own,
 float* values) {
  using namespace wordferry;
  WF_WARPS(warp) {
    WF_LANES(lane) {
      const Index pair = (block_number() * warp_total() + warp) * 32 + lane;
      if (pair < count) {
        const Index row = rows[pair], other = columns[pair];
        const Index room = offsets[pair], after = room + x_indptr[row + 1] - x_indptr[row];
        const Vectors none{nullptr, nullptr, 0};
        const Side x = side_of({x_indptr, nullptr, x_masses}, row, x_numbers, none, nearest + room, own + room);
        const Side y = side_of({y_indptr, nullptr, y_masses}, other, y_numbers, none, nearest + after, own + after);
        const float onto_y = side == 2 ? 0.0f : moved(x, far, keep != 0);
        const float onto_x = side == 1 ? 0.0f : moved(y, far, keep != 0);
        values[pair] = greater(onto_y, onto_x);
      }
    }
  }
}
