// Drivers over many pairs of documents: all values of a block, and the exact nearest of each query.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "support/watch.hpp"
#include "transport/document_pairs.hpp"

namespace wordferry {

using MakePairs = std::function<std::unique_ptr<Pairs>(Watch&)>;

// out[i, j] = the value of rows i of x and j of y. With `symmetric`, x is y from its row `offset` on, and values of
// rows j < i + offset are left to the caller to mirror.
void all_pairs(const MakePairs& make, std::int64_t queries, std::int64_t others, bool symmetric, std::int64_t offset,
               float* out, int threads, Watch& watch);

// What a search is given: lower bounds on the values of each query (row) and each row of y (column), what rounding
// may have added to them, which rows of y may be found, and how many problems per query may solve (-1: all it takes).
struct Bounded {
  const float* bounds;
  const bool* allowed;
  double slack;
  std::int64_t others, k, budget;
};

// And what it gives back, for each query.
struct Hits {
  std::int64_t* rows;    // k, -1 where there are fewer
  float* values;         // k, sorted by (value, row)
  bool* proved;          // k
  std::int64_t* counts;  // 4: solved, stopped by the dual bound, looked at, left for lack of budget
};

void search(const MakePairs& make, std::int64_t queries, const Bounded& candidates, const Hits& found, int threads,
            Watch& watch);

}  // namespace wordferry
