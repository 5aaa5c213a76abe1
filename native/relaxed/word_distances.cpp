#include "relaxed/word_distances.hpp"

#include <algorithm>
#include <cmath>

#include "support/at.hpp"
#include "support/cpu.hpp"
#include "support/lanes.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t lanes = lane_count;
constexpr int tile_rows = 6;                        // as many sums as fit in the registers, of 256 bits too
constexpr std::int64_t block_rows = 8 * tile_rows;  // so that these vectors stay in the cache for all columns
// Below this share of the squared lengths, a squared distance from a product has lost too many digits.
constexpr float lost_share = 0.01f;

// The vectors of `b` in sixteens: for each sixteen, all first dimensions, all second ones, and so on.
LaneArray sixteens(const VectorRows& b) {
  LaneArray packed(at(b.rows / lanes * b.dimensions));
  for (std::int64_t j = 0; j < b.rows; ++j) {
    Lanes* columns = packed.data() + j / lanes * b.dimensions;
    for (std::int64_t k = 0; k < b.dimensions; ++k) {
      lane(columns[k], static_cast<int>(j % lanes)) = b.values[j * b.dimensions + k];
    }
  }
  return packed;
}

template <int Rows>
WF_ALWAYS_INLINE void products_of(const float* a, std::int64_t dimensions, const Lanes* columns, float* out,
                                  std::int64_t stride) {
  Lanes sums[Rows];
  for (int r = 0; r < Rows; ++r) fill_lanes(sums[r], 0.0f);
  for (std::int64_t k = 0; k < dimensions; ++k) {
    for (int r = 0; r < Rows; ++r) add_scaled(sums[r], a[r * dimensions + k], columns[k]);
  }
  for (int r = 0; r < Rows; ++r) store(out + r * stride, sums[r]);
}

WF_CLONES
void product_block(const float* a, std::int64_t rows, std::int64_t dimensions, const Lanes* columns,
                   std::int64_t sixteen, float* out, std::int64_t stride) {
  for (std::int64_t p = 0; p < sixteen; ++p, columns += dimensions, out += lanes) {
    std::int64_t i = 0;
    for (; i + tile_rows <= rows; i += tile_rows) {
      products_of<tile_rows>(a + i * dimensions, dimensions, columns, out + i * stride, stride);
    }
    for (; i < rows; ++i) products_of<1>(a + i * dimensions, dimensions, columns, out + i * stride, stride);
  }
}

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
    double sum = 0.0;
    for (std::int64_t k = 0; k < a.dimensions; ++k) {
      const double value = static_cast<double>(a.values[i * a.dimensions + k]);
      sum += value * value;
    }
    out[i] = static_cast<float>(sum);
  }
}

void word_distances(const VectorRows& a, const float* a_squares, const VectorRows& b, const float* b_squares,
                    float* out, std::int64_t stride, int threads, Watch& watch) {
  LaneArray packed = sixteens(b);
  const Lanes* const columns = packed.data();
  const auto body = [&](std::int64_t block, int) {
    watch.check();
    Pace pace(watch);
    const std::int64_t first = block * block_rows, stop = std::min(first + block_rows, a.rows);
    product_block(a.values + first * a.dimensions, stop - first, a.dimensions, columns, b.rows / lanes,
                  out + first * stride, stride);
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
  for_blocks((a.rows + block_rows - 1) / block_rows, threads, body, watch);
}

}  // namespace wordferry
