// Sixteen floats that the compiler keeps in registers: one 512-bit register, two of 256, or four of 128.
#pragma once

#include <cstddef>
#include <vector>

namespace wordferry {

constexpr std::size_t lane_count = 16;

#if defined(__GNUC__) && !defined(WORDFERRY_PLAIN_LANES)

#define WF_INLINE __attribute__((always_inline)) inline

// A vector type of GCC and Clang; every operation is lane by lane.
typedef float Lanes __attribute__((vector_size(lane_count * sizeof(float)), aligned(64), may_alias));

// max(a, 0), lane by lane.
WF_INLINE void keep_positive(Lanes& a) {
  const Lanes zero{};
  a = a > zero ? a : zero;
}

// a = min(a, b), lane by lane.
WF_INLINE void keep_lower(Lanes& a, const Lanes& b) { a = b < a ? b : a; }

// All lanes the same.
WF_INLINE void fill_lanes(Lanes& a, float value) { a = Lanes{} + value; }

#else

#define WF_INLINE inline

struct alignas(64) Lanes {
  float value[lane_count];
  float& operator[](std::size_t i) { return value[i]; }
  float operator[](std::size_t i) const { return value[i]; }
};

inline Lanes operator+(const Lanes& a, const Lanes& b) {
  Lanes c;
  for (std::size_t i = 0; i < lane_count; ++i) c.value[i] = a.value[i] + b.value[i];
  return c;
}
inline Lanes operator-(float a, const Lanes& b) {
  Lanes c;
  for (std::size_t i = 0; i < lane_count; ++i) c.value[i] = a - b.value[i];
  return c;
}
inline Lanes operator*(const Lanes& a, const Lanes& b) {
  Lanes c;
  for (std::size_t i = 0; i < lane_count; ++i) c.value[i] = a.value[i] * b.value[i];
  return c;
}
inline void operator+=(Lanes& a, const Lanes& b) { a = a + b; }

inline void keep_positive(Lanes& a) {
  for (std::size_t i = 0; i < lane_count; ++i) a.value[i] = a.value[i] > 0.0f ? a.value[i] : 0.0f;
}
inline void keep_lower(Lanes& a, const Lanes& b) {
  for (std::size_t i = 0; i < lane_count; ++i) a.value[i] = b.value[i] < a.value[i] ? b.value[i] : a.value[i];
}

inline void fill_lanes(Lanes& a, float value) {
  for (std::size_t i = 0; i < lane_count; ++i) a.value[i] = value;
}

#endif

// A number of Lanes in memory (a template takes no vector type as it is).
class LaneArray {
 public:
  explicit LaneArray(std::size_t size) : items_(size) {}
  Lanes* data() { return &items_.data()->lanes; }
  float* values() { return reinterpret_cast<float*>(items_.data()); }

 private:
  struct Item {
    Lanes lanes;
  };
  std::vector<Item> items_;
};

}  // namespace wordferry
