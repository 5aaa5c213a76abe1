// Row minima to be inlined into multiversioned functions. `width` is a multiple of kLanes everywhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "transport/cost_rows.hpp"

#if defined(__GNUC__) && defined(__has_builtin) && !defined(WORDFERRY_PLAIN_LANES)
#if __has_builtin(__builtin_shufflevector) && __has_builtin(__builtin_convertvector)
#define WF_VECTORS 1
#endif
#endif

#if defined(__GNUC__)
#define WF_ALWAYS_INLINE __attribute__((always_inline)) inline
#define WF_FLATTEN __attribute__((flatten))
#else
#define WF_ALWAYS_INLINE inline
#define WF_FLATTEN
#endif

namespace wordferry {

#if defined(WF_VECTORS)

// Vector types, because a minimum over lanes in a plain array is not kept in registers. No function takes or returns
// one by value: that would fix its calling convention before the variant is chosen.
typedef float FloatLanes __attribute__((vector_size(sizeof(float) * kLanes)));
typedef std::int32_t NumberLanes __attribute__((vector_size(sizeof(std::int32_t) * kLanes)));
constexpr int kDoubleLanes = kLanes / 2;
typedef double DoubleLanes __attribute__((vector_size(sizeof(double) * kDoubleLanes)));
typedef float HalfLanes __attribute__((vector_size(sizeof(float) * kDoubleLanes)));
typedef std::int32_t HalfNumbers __attribute__((vector_size(sizeof(std::int32_t) * kDoubleLanes)));

#define WF_LOAD(block, from) std::memcpy(&block, from, sizeof block)

WF_ALWAYS_INLINE void load(FloatLanes& block, const float* from) { WF_LOAD(block, from); }
WF_ALWAYS_INLINE void load(DoubleLanes& block, const double* from) { WF_LOAD(block, from); }
WF_ALWAYS_INLINE void load(DoubleLanes& block, const float* from) {
  HalfLanes half;
  WF_LOAD(half, from);
  block = __builtin_convertvector(half, DoubleLanes);
}

// The least of eight lanes, by halves.
template <class Lanes>
WF_ALWAYS_INLINE auto least_of_8(const Lanes& lanes) {
  Lanes other = __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7, 0, 1, 2, 3);
  Lanes least = other < lanes ? other : lanes;
  other = __builtin_shufflevector(least, least, 2, 3, 0, 1, 6, 7, 4, 5);
  least = other < least ? other : least;
  other = __builtin_shufflevector(least, least, 1, 0, 3, 2, 5, 4, 7, 6);
  least = other < least ? other : least;
  return least[0];
}

template <class Half, class Lanes>
WF_ALWAYS_INLINE auto least_of_16(const Lanes& lanes) {
  const Half low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const Half high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  return least_of_8(high < low ? high : low);
}

WF_ALWAYS_INLINE float least_lane(const FloatLanes& lanes) { return least_of_16<HalfLanes>(lanes); }
WF_ALWAYS_INLINE std::int32_t least_lane(const NumberLanes& lanes) { return least_of_16<HalfNumbers>(lanes); }
WF_ALWAYS_INLINE double least_lane(const DoubleLanes& lanes) { return least_of_8(lanes); }

WF_ALWAYS_INLINE float sum_of_16(const FloatLanes& lanes) {
  const HalfLanes low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const HalfLanes high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  HalfLanes sum = low + high;
  sum += __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3);
  sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5);
  return sum[0] + sum[1];
}

template <class Lanes, class Cost, class Value>
WF_ALWAYS_INLINE Value minimum_in_lanes(const Cost* row, const Value* shift, int width) {
  constexpr int step = sizeof(Lanes) / sizeof(Value);
  Lanes cost, price, least;
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
  return minimum_in_lanes<FloatLanes>(row, shift, width);
}
template <class Cost>
WF_ALWAYS_INLINE double minimum_of_row(const Cost* row, const double* shift, int width) {
  return minimum_in_lanes<DoubleLanes>(row, shift, width);
}

// The first j where row[j] - shift[j] equals `value`.
WF_ALWAYS_INLINE int place_in_row(const float* row, const float* shift, int width, float value) {
  constexpr std::int32_t nowhere = std::numeric_limits<std::int32_t>::max();
  FloatLanes cost, price;
  NumberLanes here, where = NumberLanes{} + nowhere;
  for (int k = 0; k < kLanes; ++k) here[k] = k;
  for (int j = 0; j < width; j += kLanes) {
    WF_LOAD(cost, row + j);
    WF_LOAD(price, shift + j);
    const NumberLanes found = cost - price == value ? here : where;
    where = found < where ? found : where;
    here += kLanes;
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
