// Exact nearest documents by Rel-RWMD through inverted lists where words weigh more or less, and where words without a
// vector, which have lists of their own, count.
#pragma once

#include <vector>

#include "lists/nearest.hpp"
#include "lists/repeats.hpp"

namespace wordferry {

// What words weigh. Words without a vector are numbered behind those with one.
struct WordWeights {
  const double* known;
  std::int64_t known_count;
  const double* others;
  std::int64_t other_count;
};

// The totals of both bags are the sums of what words count times what they weigh, over all words of a document.
struct WeighedPart {
  SearchedPart known, others;
  const double* totals;  // the same sums as they were made, where something needs them
  float words;           // no document has more, repeated ones counted as often
  Repeats repeats;
};

// The k nearest of the allowed rows of all parts, as nearest_by_lists.
bool nearest_weighed(const std::vector<WeighedPart>& parts, const WordWeights& weights, TouchedQuery& query, float slack,
                     std::int64_t k, int threads, NearestRows& found, Watch& watch);

// The distances of some rows, as distances_of.
bool weighed_distances_of(const std::vector<WeighedPart>& parts, const WordWeights& weights, TouchedQuery& query,
                          const std::int64_t* rows, std::int64_t count, float* out, Watch& watch);

}  // namespace wordferry
