// Inner products and Euclidean distances of vectors, many at a time.
//
// A value has the same bits whatever other vectors there are, on every CPU and with the two vectors changed round:
// every product is summed up in the order of the dimensions by fused steps. Matrix products of a library make no such
// promise.
#pragma once

#include <cstdint>

#include "support/lanes.hpp"
#include "support/pool.hpp"

namespace wordferry {

struct VectorRows {
  const float* values;  // rows x dimensions
  std::int64_t rows, dimensions;
  const float* row(std::int64_t i) const { return values + i * dimensions; }
};

// Pairs closer than this, as a share of their squared lengths, lose digits in |x|^2 + |y|^2 - 2xy: their distance is
// computed from differences instead.
constexpr float cancellation = 1.0F / 16;

constexpr int tile_rows = 6 / fused_parts;  // with twice sixteen columns: as many sums as fit in the registers
constexpr std::int64_t product_rows = 48;   // so that these vectors stay in the cache for all columns
constexpr std::int64_t rows_ahead = 18;     // of the rows behind these, which are asked for early

// Vectors in sixteens: for each sixteen, all first dimensions, all second ones, and so on; filled up with zeros.
LaneArray sixteens(const float* const* vectors, std::int64_t count, std::int64_t dimensions);

// out[i][j] = the product of row i and column j, of `sixteen` times sixteen columns. Beyond the `count` rows there are
// `rows_ahead` pointers more.
void products_of_rows(const float* const* rows, std::int64_t count, std::int64_t dimensions, const Lanes* columns,
                      std::int64_t sixteen, float* out, std::int64_t stride);

double squared_length(const float* vector, std::int64_t dimensions);

// The squared distance from differences, in double: 0 exactly for equal vectors.
double exact_square(const float* a, const float* b, std::int64_t dimensions);

// out[i] = the squared length of row i.
void squared_lengths(const VectorRows& a, float* out, Watch& watch);

// out[i][j] = the distance of row i of `a` and row j of `b`; `out` has a row stride.
void word_distances(const VectorRows& a, const float* a_squares, const VectorRows& b, const float* b_squares,
                    float* out, std::int64_t stride, int threads, Watch& watch);

}  // namespace wordferry
