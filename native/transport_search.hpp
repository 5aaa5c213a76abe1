// Drivers over many pairs of documents: all values of a block, and the exact nearest of each query.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "document_pairs.hpp"
#include "watch.hpp"

namespace wordferry {

using MakePairs = std::function<std::unique_ptr<Pairs>()>;

// out[i, j] = the value of rows i of x and j of y. With `symmetric`, x is y from its row `offset` on, and values of
// rows j < i + offset are left to the caller to mirror.
void all_pairs(const MakePairs& make, std::int64_t queries, std::int64_t others, bool symmetric, std::int64_t offset,
               float* out, int threads, Watch& watch);

// What a search is given for each query: `count` rows of y with lower bounds on their values, both in rising order
// of the bound, and how many problems it may solve (-1: as many as it takes).
struct Ranked {
  const std::int64_t* rows;
  const double* bounds;
  std::int64_t count, k, budget;
};

// And what it gives back, for each query.
struct Hits {
  std::int64_t* rows;   // k, -1 where there are fewer
  float* values;        // k, sorted by (value, row)
  std::uint8_t* proved; // k
  std::int64_t* counts; // 4: problems solved, stopped by the dual bound, candidates looked at, left for lack of budget
};

void search(const MakePairs& make, std::int64_t queries, const Ranked& candidates, const Hits& found, int threads,
            Watch& watch);

}  // namespace wordferry
