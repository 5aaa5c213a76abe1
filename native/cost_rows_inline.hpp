// Lane-wise helpers to be inlined into multiversioned functions.
#pragma once

#include <cstdint>
#include <cstring>

#include "cost_rows.hpp"

namespace wordferry {

#if defined(__GNUC__) && !defined(WORDFERRY_PLAIN_LANES)

#define WF_VECTORS 1
#define WF_ALWAYS_INLINE __attribute__((always_inline)) inline
#define WF_FLATTEN __attribute__((flatten))

// Vector types, because a minimum over lanes in a plain array is not kept in registers. Macros, because a function
// that returns a vector would fix its calling convention before the variant is chosen.
typedef double RowLanes __attribute__((vector_size(sizeof(double) * kRowLanes)));
typedef std::int64_t RowNumbers __attribute__((vector_size(sizeof(std::int64_t) * kRowLanes)));
#define WF_LOAD(block, from) std::memcpy(&block, from, sizeof block)
#define WF_STORE(to, block) std::memcpy(to, &block, sizeof block)
// The least of kRowLanes values.
WF_ALWAYS_INLINE double fold(double* lane) {
  for (int half = kRowLanes / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) lane[k] = lane[k + half] < lane[k] ? lane[k + half] : lane[k];
  }
  return lane[0];
}

// The smallest row[j] - shift[j] and a j where it stands, or -1 when it is not below `below`.
WF_ALWAYS_INLINE Least least_of_row(const double* row, const double* shift, int width,
                                                         double below) {
  RowLanes cost, price, least;
  RowNumbers here, where;
  for (int k = 0; k < kRowLanes; ++k) where[k] = here[k] = k;
  WF_LOAD(cost, row);
  WF_LOAD(price, shift);
  least = cost - price;
  for (int j = kRowLanes; j < width; j += kRowLanes) {
    WF_LOAD(cost, row + j);
    WF_LOAD(price, shift + j);
    here += kRowLanes;
    cost -= price;
    where = cost < least ? here : where;
    least = cost < least ? cost : least;
  }
  double lane[kRowLanes];
  WF_STORE(lane, least);
  const double value = fold(lane);
  if (!(value < below)) return {value, -1};
  where = least == value ? where : RowNumbers{} + INT64_MAX;
  std::int64_t index[kRowLanes];
  WF_STORE(index, where);
  for (int half = kRowLanes / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) index[k] = index[k + half] < index[k] ? index[k + half] : index[k];
  }
  return {value, static_cast<int>(index[0])};
}

#else  // other compilers: the plain line that the above equals

#define WF_ALWAYS_INLINE inline
#define WF_FLATTEN

inline Least least_of_row(const double* row, const double* shift, int width, double below) {
  Least least{below, -1};
  for (int j = 0; j < width; ++j) {
    if (row[j] - shift[j] < least.value) least = {row[j] - shift[j], j};
  }
  return least;
}

#endif

}  // namespace wordferry
