// Row minima and distances over plain arrays, written in fixed lanes so that the compiler keeps them in registers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wordferry {

constexpr int kFloatLanes = 16;  // vectors of words are padded to a multiple of it with 0
constexpr int kRowLanes = 8;  // doubles a lane block; rows of costs are padded to a multiple of it with infinity

inline int padded(int n) { return (n + kRowLanes - 1) / kRowLanes * kRowLanes; }

// min over j of row[j] - shift[j]; `width` is a multiple of kRowLanes.
double row_minimum(const double* row, const double* shift, int width);

// The range of an m x n matrix with rows of `width`, and whether all of it is finite.
struct Range {
  double low, high;
  bool finite;
};
Range cost_range(const double* costs, int m, int n, int width);

// The smallest row[j] - shift[j], and a j where it stands.
struct Least {
  double value;
  int index;
};
Least row_least(const double* row, const double* shift, int width);

// out[j] = min(out[j], row[j] - shift) for all j.
void lower_columns(double* out, const double* row, double shift, int width);

// Euclidean distances of `queries` vectors to `words` vectors, one row of `out` (stride `words`) a query. The sum
// of a pair always runs in the same order, so a distance depends on nothing but its two vectors.
void word_distances(const float* query, int queries, const float* vectors, std::ptrdiff_t words, int dimensions,
                    float* out, std::ptrdiff_t stride);

}  // namespace wordferry
