// Row minima to be inlined into multiversioned functions. `width` is a multiple of kLanes everywhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "cost_rows.hpp"

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

#define WF_LOAD(block, from) std::memcpy(&block, from, sizeof block)

WF_ALWAYS_INLINE void load(DoubleLanes& block, const double* from) { WF_LOAD(block, from); }
WF_ALWAYS_INLINE void load(DoubleLanes& block, const float* from) {
  HalfLanes half;
  WF_LOAD(half, from);
  block = __builtin_convertvector(half, DoubleLanes);
}

// The least of all lanes, by halves.
template <class Value, class Lanes>
WF_ALWAYS_INLINE Value least_of_16(const Lanes& lanes) {
  typedef Value Eight __attribute__((vector_size(sizeof(Value) * 8)));
  const Eight low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const Eight high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  Eight least = high < low ? high : low;
  Eight other = __builtin_shufflevector(least, least, 4, 5, 6, 7, 0, 1, 2, 3);
  least = other < least ? other : least;
  other = __builtin_shufflevector(least, least, 2, 3, 0, 1, 6, 7, 4, 5);
  least = other < least ? other : least;
  other = __builtin_shufflevector(least, least, 1, 0, 3, 2, 5, 4, 7, 6);
  least = other < least ? other : least;
  return least[0];
}
WF_ALWAYS_INLINE float sum_of_16(const FloatLanes& lanes) {
  const HalfLanes low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const HalfLanes high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  HalfLanes sum = low + high;
  sum += __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3);
  sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5);
  return sum[0] + sum[1];
}
WF_ALWAYS_INLINE double least_of_8(const DoubleLanes& lanes) {
  DoubleLanes other = __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7, 0, 1, 2, 3);
  DoubleLanes least = other < lanes ? other : lanes;
  other = __builtin_shufflevector(least, least, 2, 3, 0, 1, 6, 7, 4, 5);
  least = other < least ? other : least;
  other = __builtin_shufflevector(least, least, 1, 0, 3, 2, 5, 4, 7, 6);
  least = other < least ? other : least;
  return least[0];
}

// min over j of row[j] - shift[j]
WF_ALWAYS_INLINE float minimum_of_row(const float* row, const float* shift, int width) {
  FloatLanes cost, price, least;
  WF_LOAD(cost, row);
  WF_LOAD(price, shift);
  least = cost - price;
  for (int j = kLanes; j < width; j += kLanes) {
    WF_LOAD(cost, row + j);
    WF_LOAD(price, shift + j);
    cost -= price;
    least = cost < least ? cost : least;
  }
  return least_of_16<float>(least);
}

template <class Cost>
WF_ALWAYS_INLINE double minimum_of_row(const Cost* row, const double* shift, int width) {
  DoubleLanes cost, price, least;
  load(cost, row);
  load(price, shift);
  least = cost - price;
  for (int j = kDoubleLanes; j < width; j += kDoubleLanes) {
    load(cost, row + j);
    load(price, shift + j);
    cost -= price;
    least = cost < least ? cost : least;
  }
  return least_of_8(least);
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
  const std::int32_t place = least_of_16<std::int32_t>(where);
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
