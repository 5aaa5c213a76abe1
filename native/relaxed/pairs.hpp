// The standard algorithm of the relaxed distances: one pair of documents after the other.
#pragma once

#include <cstdint>

#include "support/csr.hpp"
#include "support/pool.hpp"

namespace wordferry {

enum class Overlap : int { omr = 0, keep = 1, residual = 2 };
enum class Side : int { both = 0, left = 1, right = 2 };

struct PairsJob {
  CsrF x;
  CsrF y;
  Overlap overlap;
  Side side;
  float* out;  // [x][y]
  std::int64_t stride;
};

// Rel-RWMD: a table of the words that a document of x has or is related to, then one pass over y. Words that are in no
// table cost one addition.
void related_pairs(const PairsJob& job, const CsrF& graph, float c_max, int threads, Watch& watch);

// The sum of cost(0), cost(1), ... in the order of `panel_sums`, so that all ways of Rel-RWMD come to the same bits.
template <class Cost>
float moved_two_by_two(std::int64_t count, Cost&& cost) {
  float even = 0.0f, odd = 0.0f;
  std::int64_t k = 0;
  for (; k + 1 < count; k += 2) {
    even += cost(k);
    odd += cost(k + 1);
  }
  if (k < count) even += cost(k);
  return even + odd;
}

// Costs of one document x to all words of y: costs[w][i] of word w (y's numbering) and the i-th word of x, rows padded
// with far_away to `width`, a multiple of 16. A word's cost to itself must be far_away, or 0 for `keep`.
// Words behind the first x_known of x, and those of y from number y_known on, have no vector: no costs are stored of
// them, they are `far` from every other word.
struct DenseRows {
  const float* costs;
  std::int64_t width;
  std::int64_t x_known;
  std::int32_t y_known;
  float far;
};

// RWMD of one document x against all of y. `own[i]` is the number in y's numbering of the i-th word of x, or -1.
void dense_pairs(const PairsJob& job, const DenseRows& rows, const std::int32_t* own, int threads, Watch& watch);

// Computes the cosine distances below `limit` again, as |x - y|^2 / 2 of rows of length 1: exact 0 for equal rows.
void refine_cosine(const PairsJob& job, float limit, int threads, Watch& watch);

}  // namespace wordferry
