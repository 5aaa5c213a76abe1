// The k nearest of each row, kept while blocks of values come in; and one query against a whole collection.
#pragma once

#include <atomic>
#include <cstdint>

#include "csr.hpp"
#include "pairs.hpp"
#include "pool.hpp"

namespace wordferry {

// One heap a row, the worst on top: `count` rows of k (distance, index). An empty place is (inf, no_index).
struct Heaps {
  float* distances;
  std::int64_t* indices;
  std::int64_t rows;
  std::int64_t k;
};

constexpr std::int64_t no_index = INT64_MAX;

// Offers values[row][c] as the candidate `first + c`, where `allowed` (null: everywhere) is not 0.
void offer(const Heaps& heaps, const float* values, std::int64_t stride, std::int64_t columns, std::int64_t first,
           const std::uint8_t* allowed, int threads, Watch& watch);

// Sorts each heap by (distance, index); empty places become (inf, -1) at the end.
void finish(const Heaps& heaps, int threads, Watch& watch);

// Rel-RWMD of each document of job.x, one at a time, to all of job.y, by one pass over y: words that are neither in
// the query nor related to one of its words cost one addition. `residual` is not possible here.
void related_scan(const PairsJob& job, const CsrF& graph, float c_max, int threads, std::atomic<std::int64_t>& done,
                  Watch& watch);

}  // namespace wordferry
