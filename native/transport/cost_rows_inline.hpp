// Row minima to be inlined into multiversioned functions. `width` is a multiple of lane_count everywhere.
#pragma once

#include <cstdint>
#include <limits>

#include "support/compiler.hpp"
#include "support/lanes.hpp"

namespace wordferry {

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

}  // namespace wordferry
