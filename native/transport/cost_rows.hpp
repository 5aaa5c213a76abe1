// Row minima over plain arrays, written in fixed lanes so that the compiler keeps them in registers.
#pragma once

#include <cstdint>
#include <limits>

#include "support/compiler.hpp"
#include "support/lanes.hpp"

namespace wordferry {

// Rows of costs are padded with infinity: in all of these `width` is a multiple of lane_count.

#if defined(WF_VECTORS)

template <class Block, class Cost, class Value>
WF_ALWAYS_INLINE Value minimum_in_lanes(const Cost* row, const Value* shift, int width) {
  constexpr int step = sizeof(Block) / sizeof(Value);
  Block cost, price, least;
  load(cost, row);
  load(price, shift);
  least = cost - price;
  for (int j = step; j < width; j += step) {
    load(cost, row + j);
    load(price, shift + j);
    cost -= price;
    least = cost < least ? cost : least;
  }
  return least_lane(least);
}

// min over j of row[j] - shift[j], in the precision of the shift
WF_ALWAYS_INLINE float minimum_of_row(const float* row, const float* shift, int width) {
  return minimum_in_lanes<Lanes>(row, shift, width);
}
template <class Cost>
WF_ALWAYS_INLINE double minimum_of_row(const Cost* row, const double* shift, int width) {
  return minimum_in_lanes<DoubleLanes>(row, shift, width);
}

// The first j where row[j] - shift[j] equals `value`.
WF_ALWAYS_INLINE int place_in_row(const float* row, const float* shift, int width, float value) {
  constexpr std::int32_t nowhere = std::numeric_limits<std::int32_t>::max();
  Lanes cost, price;
  NumberLanes here, where = NumberLanes{} + nowhere;
  for (int k = 0; k < lane_count; ++k) here[k] = k;
  for (int j = 0; j < width; j += lane_count) {
    load(cost, row + j);
    load(price, shift + j);
    const NumberLanes found = cost - price == value ? here : where;
    where = found < where ? found : where;
    here += lane_count;
  }
  const std::int32_t place = least_lane(where);
  return place == nowhere ? -1 : place;
}

#else  // other compilers: the plain lines that the above equal

template <class Cost, class Value>
inline Value minimum_of_row(const Cost* row, const Value* shift, int width) {
  Value least = row[0] - shift[0];
  for (int j = 1; j < width; ++j) least = row[j] - shift[j] < least ? row[j] - shift[j] : least;
  return least;
}

inline int place_in_row(const float* row, const float* shift, int width, float value) {
  for (int j = 0; j < width; ++j) {
    if (row[j] - shift[j] == value) return j;
  }
  return -1;
}

#endif

template <class Cost>
WF_ALWAYS_INLINE int place_in_row(const Cost* row, const double* shift, int width, double value) {
  for (int j = 0; j < width; ++j) {
    if (row[j] - shift[j] == value) return j;
  }
  return -1;
}

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
