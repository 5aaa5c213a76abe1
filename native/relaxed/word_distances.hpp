// Euclidean distances between words, many at a time, from products of their vectors.
//
// A distance has the same bits whatever other words are compared in the same call: every product is summed up in the
// order of the dimensions, by the same steps. Matrix products of a library make no such promise.
#pragma once

#include <cstdint>

#include "support/pool.hpp"

namespace wordferry {

struct VectorRows {
  const float* values;  // rows x dimensions
  std::int64_t rows;
  std::int64_t dimensions;
};

// out[i] = the squared length of row i.
void squared_lengths(const VectorRows& a, float* out, Watch& watch);

// out[i][j] = the distance of row i of `a` and row j of `b`, of which there are a multiple of 16; `out` has a row
// stride. Distances that are small beside the lengths are computed from the differences, because the product has lost
// them to rounding.
void word_distances(const VectorRows& a, const float* a_squares, const VectorRows& b, const float* b_squares,
                    float* out, std::int64_t stride, int threads, Watch& watch);

}  // namespace wordferry
