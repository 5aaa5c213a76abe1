#include "relaxed/word_distances.hpp"

#include <algorithm>
#include <cmath>

#include "support/cpu.hpp"
#include "support/lanes.hpp"
#include "support/products.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t lanes = lane_count;
// Below this share of the squared lengths, a squared distance from a product has lost too many digits.
constexpr float lost_share = 0.01f;

// row[j] = the squared distance; returns whether one of them is so small that it must be computed again.
WF_CLONES
bool squared_row(float* row, std::int64_t columns, float square, const float* squares) {
  int lost = 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    const float both = square + squares[j];
    const float value = both - 2.0f * row[j];
    lost |= value < lost_share * both;
    row[j] = value;
  }
  return lost != 0;
}

WF_CLONES
void root_row(float* row, std::int64_t columns) {
  for (std::int64_t j = 0; j < columns; ++j) row[j] = std::sqrt(row[j] > 0.0f ? row[j] : 0.0f);
}

WF_CLONES
float squared_difference(const float* a, const float* b, std::int64_t dimensions) {
  double sum = 0.0;
  for (std::int64_t k = 0; k < dimensions; ++k) {
    const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    sum += difference * difference;
  }
  return static_cast<float>(sum);
}

}  // namespace

void squared_lengths(const VectorRows& a, float* out, Watch& watch) {
  Pace pace(watch);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    pace.spend(a.dimensions);
    out[i] = static_cast<float>(squared_length(a.values + i * a.dimensions, a.dimensions));
  }
}

void word_distances(const VectorRows& a, const float* a_squares, const VectorRows& b, const float* b_squares,
                    float* out, std::int64_t stride, int threads, Watch& watch) {
  LaneArray packed = sixteens(b.rows, b.dimensions, [&](std::int64_t j) { return b.values + j * b.dimensions; });
  const Lanes* const columns = packed.data();
  const auto body = [&](std::int64_t block, int) {
    watch.check();
    Pace pace(watch);
    const std::int64_t first = block * product_rows, stop = std::min(first + product_rows, a.rows);
    const float* rows[product_rows + rows_ahead];
    for (std::int64_t i = 0; i < product_rows + rows_ahead; ++i) {
      rows[i] = a.values + std::min(first + i, a.rows - 1) * a.dimensions;
    }
    products_of_rows(rows, stop - first, a.dimensions, columns, b.rows / lanes, out + first * stride, stride);
    for (std::int64_t i = first; i < stop; ++i) {
      float* row = out + i * stride;
      if (squared_row(row, b.rows, a_squares[i], b_squares)) {
        for (std::int64_t j = 0; j < b.rows; ++j) {
          if (row[j] < lost_share * (a_squares[i] + b_squares[j])) {
            pace.spend(a.dimensions);
            row[j] = squared_difference(a.values + i * a.dimensions, b.values + j * b.dimensions, a.dimensions);
          }
        }
      }
      root_row(row, b.rows);
    }
  };
  for_blocks((a.rows + product_rows - 1) / product_rows, threads, body, watch);
}

}  // namespace wordferry
