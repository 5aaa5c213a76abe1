#include "relaxed/topk.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "support/at.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t rows_a_block = 16;
constexpr std::int64_t most_places = std::int64_t{1} << 36;

// Calls each(row) for all rows, a few in a block.
template <class Each>
void for_rows(std::int64_t rows, int threads, Watch& watch, Each&& each) {
  const auto body = [&](std::int64_t block, int) {
    for (std::int64_t row = block * rows_a_block; row < std::min((block + 1) * rows_a_block, rows); ++row) {
      watch.check();
      each(row);
    }
  };
  for_blocks((rows + rows_a_block - 1) / rows_a_block, threads, body, watch);
}

}  // namespace

NearestRows::NearestRows(std::int64_t rows, std::int64_t k) : rows_(rows), k_(k) {
  if (rows < 0 || k < 1 || (rows > 0 && k > most_places / rows)) {
    throw std::invalid_argument(
        "rows must not be negative, k must be at least 1, and both of a size that fits in memory");
  }
  heaps_.assign(at(rows), BestK<float>(k));
}

void NearestRows::require_open() const {
  if (std::ssize(heaps_) != rows_) throw std::invalid_argument("finished already: make another");
}

void NearestRows::offer(const OfferedBlock& block, int threads, Watch& watch) {
  const std::lock_guard lock(mutex_);
  require_open();
  for_rows(block.rows, threads, watch, [&](std::int64_t row) {
    heaps_[at(block.first_row + row)].offer_all(block.values + row * block.stride, block.columns, block.first,
                                                block.allowed);
  });
}

void NearestRows::finish(float* distances, std::int64_t* indices, int threads, Watch& watch) {
  const std::lock_guard lock(mutex_);
  require_open();
  std::vector<BestK<float>> heaps = std::exchange(heaps_, {});
  for_rows(rows_, threads, watch, [&](std::int64_t row) {
    const auto places = std::move(heaps[at(row)]).sorted();
    for (std::int64_t i = 0; i < k_; ++i) {
      const bool here = i < std::ssize(places);
      distances[row * k_ + i] = here ? places[at(i)].value : std::numeric_limits<float>::infinity();
      indices[row * k_ + i] = here ? places[at(i)].row : -1;
    }
  });
}

}  // namespace wordferry
