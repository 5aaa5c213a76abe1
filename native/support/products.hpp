// Inner products of many vectors with a few. Each is summed up in the order of the dimensions, by the same steps, so that
// it has the same bits whatever other vectors there are.
#pragma once

#include <cstdint>

#include "support/at.hpp"
#include "support/lanes.hpp"

namespace wordferry {

constexpr int tile_rows = 6;                           // as many sums as fit in the registers, of 256 bits too
constexpr std::int64_t product_rows = 8 * tile_rows;   // so that these vectors stay in the cache for all columns
constexpr std::int64_t rows_ahead = 3 * tile_rows;     // of the rows behind these, which are asked for early

// Vectors in sixteens: for each sixteen, all first dimensions, all second ones, and so on. vector(j) is the j-th.
template <class Vector>
LaneArray sixteens(std::int64_t count, std::int64_t dimensions, Vector&& vector) {
  LaneArray packed(at((count + lane_count - 1) / lane_count * dimensions));
  for (std::int64_t j = 0; j < count; ++j) {
    const float* values = vector(j);
    Lanes* columns = packed.data() + j / lane_count * dimensions;
    for (std::int64_t k = 0; k < dimensions; ++k) lane(columns[k], static_cast<int>(j % lane_count)) = values[k];
  }
  return packed;
}

// out[i][j] = the product of row i and column j, of `sixteen` times sixteen columns. Beyond the `count` rows there are
// `rows_ahead` pointers more.
void products_of_rows(const float* const* rows, std::int64_t count, std::int64_t dimensions, const Lanes* columns,
                      std::int64_t sixteen, float* out, std::int64_t stride);

double squared_length(const float* vector, std::int64_t dimensions);

}  // namespace wordferry
