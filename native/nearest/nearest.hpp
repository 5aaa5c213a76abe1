// Exact nearest documents by Rel-RWMD through inverted lists.
//
// Moving a document onto the query costs c_max for each word that the query does not touch, so that side of the
// distance is c_max less what the lists of the touched words save. It bounds the distance from below. The sums of a
// block of rows stay in the cache, and only rows that can still be among the nearest leave it: nothing is kept for
// every document.
#pragma once

#include <cstdint>
#include <vector>

#include "nearest/pruned.hpp"
#include "relaxed/touched.hpp"
#include "stored/stored.hpp"

namespace wordferry {

// How a distance is made of Rel-RWMD and the cosine distance: moved * the one + unshared * the other. `unit` are the
// query's words as a vector of length 1, in their order. Cosine distances below `lost` are computed again from the
// differences of the vectors, because 1 less the product has too few digits.
struct CosineShare {
  const float* unit = nullptr;  // none for Rel-RWMD alone
  std::int64_t words = 0;
  float moved = 1.0f, unshared = 0.0f, lost = 0.0f;
};

// A query with its share of the cosine distance.
struct BlendedQuery {
  TouchedQuery words;
  CosineShare cosine;
};

// The k nearest of the allowed rows of all parts to each of up to sixteen queries with one c_max and the same shares:
// the lists say how near the k-th is, then documents are walked once for all of them where that pays. `slack` is how
// far bounds and distances may be off.
void nearest_by_lists(const std::vector<SearchedPart>& parts, const WordWeights& weights,
                      std::vector<BlendedQuery>& queries, float slack, std::int64_t k, int threads,
                      std::vector<NearestDocuments>& found, Watch& watch);

// The distances of some rows.
void distances_of(const std::vector<SearchedPart>& parts, const WordWeights& weights, BlendedQuery& query,
                  const std::int64_t* rows, std::int64_t count, float* out, Watch& watch);

// The words that a query has or is related to, rising, and what they cost.
struct TouchedWords {
  const std::int32_t* words;
  const float* near;    // the cost of the nearest word of the query that it may move to
  const float* gain;    // how much less that is than what an untouched word costs
  const float* common;  // the mass that the query has of this very word and that may stay, or 0
  std::int64_t count;
};

// out[row] = rest - (what the touched words save) / (what the row's words count): the cost of moving the document onto
// the query when an untouched word costs `rest`. Rows without words get infinity. Returns how many entries of lists
// were visited.
std::int64_t list_bounds(const StoredLists& lists, const TouchedWords& touched, const float* totals,
                         const Repeats& repeats, float rest, float* out, int threads, Watch& watch);

}  // namespace wordferry
