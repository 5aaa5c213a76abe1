// The k nearest of each row, kept while blocks of values come in.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "support/pool.hpp"

namespace wordferry {

// One heap for each row, the worst on top: `rows` rows of k (distance, index). An empty place is (inf, no_index).
struct Heaps {
  float* distances;
  std::int64_t* indices;
  std::int64_t rows;
  std::int64_t k;
};

constexpr std::int64_t no_index = INT64_MAX;

// The memory of heaps, empty at first.
class Nearest {
 public:
  Nearest(std::int64_t rows, std::int64_t k);
  std::int64_t rows() const { return rows_; }
  std::int64_t k() const { return k_; }
  // Those of some rows; throws once the memory was released.
  Heaps heaps(std::int64_t first, std::int64_t count);
  std::pair<std::unique_ptr<float[]>, std::unique_ptr<std::int64_t[]>> release() {
    return {std::move(distances_), std::move(indices_)};
  }

 private:
  std::int64_t rows_, k_;
  std::unique_ptr<float[]> distances_;
  std::unique_ptr<std::int64_t[]> indices_;
};

// Offers values[row][c] as the candidate `first + c`, where `allowed` (null: everywhere) is not 0.
void offer(const Heaps& heaps, const float* values, std::int64_t stride, std::int64_t columns, std::int64_t first,
           const std::uint8_t* allowed, int threads, Watch& watch);

// Sorts each heap by (distance, index); empty places become (inf, -1) at the end.
void finish(const Heaps& heaps, int threads, Watch& watch);

}  // namespace wordferry
