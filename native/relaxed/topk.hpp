// The k nearest of each row, kept while blocks of values come in.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "support/best.hpp"
#include "support/pool.hpp"

namespace wordferry {

// Values of some rows, as candidates from number `first` on, where `allowed` (null: everywhere) is not 0.
struct OfferedBlock {
  const float* values;
  std::int64_t stride, rows, columns, first_row, first;
  const bool* allowed;
};

// Callers on several threads take turns.
class NearestRows {
 public:
  NearestRows(std::int64_t rows, std::int64_t k);
  std::int64_t rows() const { return rows_; }
  std::int64_t k() const { return k_; }

  void offer(const OfferedBlock& block, int threads, Watch& watch);

  // Fills rows x k, each row sorted by (distance, index), empty places with (inf, -1). The candidates are used up.
  void finish(float* distances, std::int64_t* indices, int threads, Watch& watch);

 private:
  void require_open() const;

  std::int64_t rows_, k_;
  std::mutex mutex_;
  std::vector<BestK<float>> heaps_;  // none once finished
};

}  // namespace wordferry
