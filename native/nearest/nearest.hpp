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
#include "stored/weights.hpp"

namespace wordferry {

struct RowBlock {
  std::size_t part;
  std::int64_t number;
};

// The blocks of all parts, the largest first.
std::vector<RowBlock> blocks_of(const std::vector<SearchedPart>& parts);

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
// far bounds and distances may be off. False when the arrays lead outside of themselves, which only damaged ones do.
bool nearest_by_lists(const std::vector<SearchedPart>& parts, const WordWeights& weights,
                      std::vector<BlendedQuery>& queries, float slack, std::int64_t k, int threads,
                      std::vector<NearestDocuments>& found, Watch& watch);

// The distances of some rows. False as above.
bool distances_of(const std::vector<SearchedPart>& parts, const WordWeights& weights, BlendedQuery& query,
                  const std::int64_t* rows, std::int64_t count, float* out, Watch& watch);

}  // namespace wordferry
