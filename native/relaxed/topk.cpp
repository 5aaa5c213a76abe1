#include "relaxed/topk.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace wordferry {

namespace {

constexpr std::int64_t rows_a_block = 16;
constexpr std::int64_t most_places = std::int64_t{1} << 36;

bool better(float a, std::int64_t i, float b, std::int64_t j) { return a < b || (a == b && i < j); }

// Puts a candidate in the place of the worst, and restores the heap.
void replace_worst(float* distances, std::int64_t* indices, std::int64_t k, float distance, std::int64_t index) {
  std::int64_t at = 0;
  while (true) {
    std::int64_t child = 2 * at + 1;
    if (child >= k) break;
    if (child + 1 < k && better(distances[child], indices[child], distances[child + 1], indices[child + 1])) ++child;
    if (better(distances[child], indices[child], distance, index)) break;
    distances[at] = distances[child];
    indices[at] = indices[child];
    at = child;
  }
  distances[at] = distance;
  indices[at] = index;
}

void offer_row(const Heaps& heaps, std::int64_t row, const float* values, std::int64_t columns, std::int64_t first,
               const std::uint8_t* allowed) {
  float* distances = heaps.distances + row * heaps.k;
  std::int64_t* indices = heaps.indices + row * heaps.k;
  for (std::int64_t c = 0; c < columns; ++c) {
    if (values[c] > distances[0] || (allowed != nullptr && allowed[c] == 0)) continue;
    if (better(values[c], first + c, distances[0], indices[0])) {
      replace_worst(distances, indices, heaps.k, values[c], first + c);
    }
  }
}

}  // namespace

Nearest::Nearest(std::int64_t rows, std::int64_t k) : rows_(rows), k_(k) {
  if (rows < 0 || k < 1 || (rows > 0 && k > most_places / rows)) {
    throw std::invalid_argument("rows must not be negative, k must be at least 1, and both of a size that fits in memory");
  }
  const auto places = static_cast<std::size_t>(rows * k);
  distances_ = std::unique_ptr<float[]>(new float[places]);
  indices_ = std::unique_ptr<std::int64_t[]>(new std::int64_t[places]);
  std::fill_n(distances_.get(), places, std::numeric_limits<float>::infinity());
  std::fill_n(indices_.get(), places, no_index);
}

Heaps Nearest::heaps(std::int64_t first, std::int64_t count) {
  if (!distances_) throw std::invalid_argument("finished already: make another");
  return {distances_.get() + first * k_, indices_.get() + first * k_, count, k_};
}

void offer(const Heaps& heaps, const float* values, std::int64_t stride, std::int64_t columns, std::int64_t first,
           const std::uint8_t* allowed, int threads, Watch& watch) {
  const auto body = [&](std::int64_t block, int) {
    for (std::int64_t row = block * rows_a_block; row < std::min((block + 1) * rows_a_block, heaps.rows); ++row) {
      watch.check();
      offer_row(heaps, row, values + row * stride, columns, first, allowed);
    }
  };
  for_blocks((heaps.rows + rows_a_block - 1) / rows_a_block, threads, body, watch);
}

void finish(const Heaps& heaps, int threads, Watch& watch) {
  const auto body = [&](std::int64_t row, int) {
    float* distances = heaps.distances + row * heaps.k;
    std::int64_t* indices = heaps.indices + row * heaps.k;
    std::vector<std::pair<float, std::int64_t>> places;
    for (std::int64_t i = 0; i < heaps.k; ++i) places.emplace_back(distances[i], indices[i]);
    std::sort(places.begin(), places.end());
    for (std::size_t i = 0; i < places.size(); ++i) {
      distances[i] = places[i].first;
      indices[i] = places[i].second == no_index ? -1 : places[i].second;
    }
  };
  for_blocks(heaps.rows, threads, body, watch);
}

}  // namespace wordferry
