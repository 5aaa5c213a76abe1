// Row minima over plain arrays, written in fixed lanes so that the compiler keeps them in registers.
#pragma once

#include <cstdint>

#include "support/lanes.hpp"

namespace wordferry {

// Rows of costs are padded with infinity: in all of these `width` is a multiple of lane_count.

// min over j of row[j] - shift[j]
float row_minimum(const float* row, const float* shift, int width);

// The range of an m x n matrix with rows of `width`, and whether all of it is finite.
struct Range {
  double low, high;
  bool finite;
};
Range cost_range(const float* costs, int m, int n, int width);
Range cost_range(const double* costs, int m, int n, int width);

// The smallest row[j] - shift[j], and the first j where it stands; -1 where none is below infinity.
struct Least {
  float value;
  int index;
};
Least row_least(const float* row, const float* shift, int width);

// The smallest row[j] - shift[j] with its place, and the second smallest.
struct TwoLeast {
  float value;
  int index;
  float second;
};
TwoLeast row_two_least(const float* row, const float* shift, int width);

// out[j] = min(out[j], row[j] - shift) for all j.
void lower_columns(float* out, const float* row, float shift, int width);

}  // namespace wordferry
