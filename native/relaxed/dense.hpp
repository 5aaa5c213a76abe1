// The minima over documents that RWMD takes of distances between words, and their sums.
#pragma once

#include <cstdint>

#include "support/csr.hpp"
#include "support/pool.hpp"

namespace wordferry {

// A larger cost than any: for a word that must not move to itself. Finite, so that 0 * far_away is 0.
constexpr float far_away = 1e30f;

// nearest[panel][column0 + c][lane] = min over the words w of a document of costs[w][c], for `width` columns, a
// multiple of 16. `nearest` has `columns` columns per panel; lanes without a document or words get far_away.
void document_minima(const CsrF& documents, const float* costs, std::int64_t width, float* nearest,
                     std::int64_t columns, std::int64_t column0, int threads, Watch& watch);

struct AccumulateJob {
  CsrF pass;             // the documents whose words move, their words rising
  CsrF panel;            // the documents moved to: their masses over the same words, rising too
  const float* nearest;  // [panel][columns][16]
  std::int64_t columns;
  std::int64_t first_word;  // the word of column 0; only the words of columns 0 .. columns - 1 take part
  bool omr;                 // common mass stays; else everything moves
  bool add;                 // add to `out`, or start it
  float* out;               // [pass][panel]
  std::int64_t stride;
};

// out[d][e] (+)= sum over d's words w of this block of max(d_w - e_w, 0) * nearest[e][w], one word after the other.
void accumulate(const AccumulateJob& job, int threads, Watch& watch);

}  // namespace wordferry
