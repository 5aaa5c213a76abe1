// Sixteen floats that the compiler keeps in registers (one of 512 bits, two of 256, or four of 128), and the steps that
// kernels take with them. Everything that depends on the compiler's vector types is here; without them the same is said
// in plain loops, with the same results.
//
// No function takes or returns a vector by value: that would fix its calling convention before the variant of the CPU
// is chosen.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "support/compiler.hpp"

#if defined(WF_GNU) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector) && __has_builtin(__builtin_convertvector)
#define WF_VECTORS 1
#endif
#endif

namespace wordferry {

constexpr int lane_count = 16;
constexpr int double_lane_count = lane_count / 2;
constexpr std::int64_t lane_width = lane_count;  // for numbers of 64 bits

// Rows of floats are padded to a multiple of lane_count.
constexpr int padded(int n) { return (n + lane_count - 1) / lane_count * lane_count; }

#if defined(WF_VECTORS)

// Vector types of GCC and Clang; every operation is lane by lane.
typedef float Lanes __attribute__((vector_size(lane_count * sizeof(float)), aligned(64), may_alias));
typedef std::int32_t NumberLanes __attribute__((vector_size(lane_count * sizeof(std::int32_t))));
typedef double DoubleLanes __attribute__((vector_size(double_lane_count * sizeof(double))));
typedef float HalfLanes __attribute__((vector_size(double_lane_count * sizeof(float))));
typedef std::int32_t HalfNumbers __attribute__((vector_size(double_lane_count * sizeof(std::int32_t))));

// Of memory that lies at a multiple of 64 bytes.
WF_ALWAYS_INLINE void load_aligned(Lanes& lanes, const float* from) { lanes = *reinterpret_cast<const Lanes*>(from); }

// One lane, to be read or written.
WF_ALWAYS_INLINE float& lane(Lanes& lanes, int i) { return reinterpret_cast<float*>(&lanes)[i]; }
WF_ALWAYS_INLINE float lane(const Lanes& lanes, int i) { return reinterpret_cast<const float*>(&lanes)[i]; }

// max(a, 0), lane by lane.
WF_ALWAYS_INLINE void keep_positive(Lanes& a) {
  const Lanes zero{};
  a = a > zero ? a : zero;
}

// a = min(a, b) or max(a, b), lane by lane.
WF_ALWAYS_INLINE void keep_lower(Lanes& a, const Lanes& b) { a = b < a ? b : a; }
WF_ALWAYS_INLINE void keep_higher(Lanes& a, const Lanes& b) { a = b > a ? b : a; }

// All lanes the same.
WF_ALWAYS_INLINE void fill_lanes(Lanes& a, float value) { a = Lanes{} + value; }

WF_ALWAYS_INLINE void load(Lanes& block, const float* from) { std::memcpy(&block, from, sizeof block); }
WF_ALWAYS_INLINE void load(DoubleLanes& block, const double* from) { std::memcpy(&block, from, sizeof block); }
WF_ALWAYS_INLINE void load(DoubleLanes& block, const float* from) {
  HalfLanes half;
  std::memcpy(&half, from, sizeof half);
  block = __builtin_convertvector(half, DoubleLanes);
}
// Sixteen small whole numbers.
// A loop becomes one instruction, where converting vectors of bytes is done byte by byte.
WF_ALWAYS_INLINE void load(Lanes& block, const std::int8_t* from) {
  std::int32_t numbers[lane_count];
  for (std::size_t i = 0; i < lane_count; ++i) numbers[i] = from[i];
  NumberLanes lanes;
  std::memcpy(&lanes, numbers, sizeof lanes);
  block = __builtin_convertvector(lanes, Lanes);
}
WF_ALWAYS_INLINE void store(float* to, const Lanes& block) { std::memcpy(to, &block, sizeof block); }

// The least of eight lanes, by halves.
template <class Eight>
WF_ALWAYS_INLINE auto least_of_8(const Eight& lanes) {
  Eight other = __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7, 0, 1, 2, 3);
  Eight least = other < lanes ? other : lanes;
  other = __builtin_shufflevector(least, least, 2, 3, 0, 1, 6, 7, 4, 5);
  least = other < least ? other : least;
  other = __builtin_shufflevector(least, least, 1, 0, 3, 2, 5, 4, 7, 6);
  least = other < least ? other : least;
  return least[0];
}

template <class Half, class Sixteen>
WF_ALWAYS_INLINE auto least_of_16(const Sixteen& lanes) {
  const Half low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const Half high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  return least_of_8(high < low ? high : low);
}

WF_ALWAYS_INLINE float least_lane(const Lanes& lanes) { return least_of_16<HalfLanes>(lanes); }
WF_ALWAYS_INLINE std::int32_t least_lane(const NumberLanes& lanes) { return least_of_16<HalfNumbers>(lanes); }
WF_ALWAYS_INLINE double least_lane(const DoubleLanes& lanes) { return least_of_8(lanes); }

// By halves.
WF_ALWAYS_INLINE float sum_of_lanes(const Lanes& lanes) {
  const HalfLanes low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const HalfLanes high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  HalfLanes sum = low + high;
  sum += __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3);
  sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5);
  return sum[0] + sum[1];
}

// Blocks of Step lanes change places between two rows.
template <int Step, int... k>
WF_ALWAYS_INLINE void exchange(Lanes& a, Lanes& b, std::integer_sequence<int, k...>) {
  const Lanes low = __builtin_shufflevector(a, b, ((k & Step) != 0 ? lane_count + k - Step : k)...);
  b = __builtin_shufflevector(a, b, ((k & Step) != 0 ? lane_count + k : k + Step)...);
  a = low;
}

template <int Step>
WF_ALWAYS_INLINE void exchange_all(Lanes* row) {
  for (int k = 0; k < lane_count; ++k) {
    if ((k & Step) == 0) exchange<Step>(row[k], row[k + Step], std::make_integer_sequence<int, lane_count>{});
  }
}

// Lane i of row[j] becomes lane j of row[i].
WF_ALWAYS_INLINE void transpose(Lanes* row) {
  exchange_all<1>(row);
  exchange_all<2>(row);
  exchange_all<4>(row);
  exchange_all<8>(row);
}

#else

struct alignas(64) Lanes {
  float value[lane_count];
};

inline void load_aligned(Lanes& lanes, const float* from) { std::memcpy(&lanes, from, sizeof lanes); }
inline float& lane(Lanes& lanes, int i) { return lanes.value[i]; }
inline float lane(const Lanes& lanes, int i) { return lanes.value[i]; }

// Lane by lane; a number stands for sixteen of it.
template <class Step>
Lanes each_lane(const Step& step) {
  Lanes c;
  for (int i = 0; i < lane_count; ++i) c.value[i] = step(i);
  return c;
}
inline Lanes operator+(const Lanes& a, const Lanes& b) {
  return each_lane([&](int i) { return a.value[i] + b.value[i]; });
}
inline Lanes operator-(const Lanes& a, const Lanes& b) {
  return each_lane([&](int i) { return a.value[i] - b.value[i]; });
}
inline Lanes operator-(float a, const Lanes& b) {
  return each_lane([&](int i) { return a - b.value[i]; });
}
inline Lanes operator*(const Lanes& a, const Lanes& b) {
  return each_lane([&](int i) { return a.value[i] * b.value[i]; });
}
inline Lanes operator*(float a, const Lanes& b) {
  return each_lane([&](int i) { return a * b.value[i]; });
}
inline void operator+=(Lanes& a, const Lanes& b) { a = a + b; }

inline void load(Lanes& block, const float* from) { std::memcpy(&block, from, sizeof block); }
inline void load(Lanes& block, const std::int8_t* from) {
  for (int i = 0; i < lane_count; ++i) block.value[i] = static_cast<float>(from[i]);
}
inline void store(float* to, const Lanes& block) { std::memcpy(to, &block, sizeof block); }

inline void keep_lower(Lanes& a, const Lanes& b) {
  a = each_lane([&](int i) { return b.value[i] < a.value[i] ? b.value[i] : a.value[i]; });
}
inline void keep_higher(Lanes& a, const Lanes& b) {
  a = each_lane([&](int i) { return b.value[i] > a.value[i] ? b.value[i] : a.value[i]; });
}
inline void fill_lanes(Lanes& a, float value) {
  a = each_lane([value](int) { return value; });
}
inline void keep_positive(Lanes& a) { keep_higher(a, Lanes{}); }
inline void transpose(Lanes* row) {
  for (int i = 0; i < lane_count; ++i) {
    for (int j = 0; j < i; ++j) std::swap(row[i].value[j], row[j].value[i]);
  }
}
inline float least_lane(const Lanes& lanes) { return *std::min_element(lanes.value, lanes.value + lane_count); }
inline float sum_of_lanes(Lanes lanes) {
  for (int half = lane_count / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes.value[i] += lanes.value[i + half];
  }
  return lanes.value[0];
}

#endif

// Registers that sixteen sums of products take: GCC makes good code of loops over the lanes of one.
#if defined(__AVX512F__)
constexpr int fused_parts = 1;
#else
constexpr int fused_parts = 2;
#endif

// Sixteen sums of products, each step of which is rounded once.
struct FusedSums {
#if !defined(WF_VECTORS)
  float part[fused_parts][lane_count / fused_parts];
#elif defined(__AVX512F__)
  Lanes part[fused_parts];
#else
  HalfLanes part[fused_parts];
#endif
};

// sum += factor * row, by fused multiply-adds. CPUs without that instruction get the same result from a function of the
// C library, which takes many times as long.
WF_ALWAYS_INLINE void fused(FusedSums& sum, float factor, const float* row) {
  constexpr int width = lane_count / fused_parts;
  for (int p = 0; p < fused_parts; ++p) {
    float part[width];
    std::memcpy(part, &sum.part[p], sizeof part);
    for (int i = 0; i < width; ++i) part[i] = std::fma(factor, row[p * width + i], part[i]);
    std::memcpy(&sum.part[p], part, sizeof part);
  }
}

// sum += max(mass - own, 0) * near, where `near` is the cost of moving the word to each document and `own` the mass of
// the word that each holds itself. Every way to RWMD and Rel-RWMD rounds as this does.
WF_ALWAYS_INLINE void add_excess(Lanes& sum, float mass, const Lanes& near, const Lanes& own) {
  Lanes excess = mass - own;
  keep_positive(excess);
  sum += excess * near;
}

// sum += mass * near.
WF_ALWAYS_INLINE void add_whole(Lanes& sum, float mass, const Lanes& near) { sum += mass * near; }

// A number of Lanes in memory.
class LaneArray {
 public:
  explicit LaneArray(std::size_t size = 0) : items_(size) {}
  void grow(std::size_t size) {
    if (items_.size() < size) items_.resize(size);
  }
#if defined(WF_VECTORS)
  Lanes* data() { return reinterpret_cast<Lanes*>(items_.data()); }

 private:
  struct Item {  // a template takes no vector type as it is
    Lanes lanes;
  };
#else
  Lanes* data() { return items_.data(); }

 private:
  using Item = Lanes;
#endif
  std::vector<Item> items_;
};

}  // namespace wordferry
