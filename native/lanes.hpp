// Sixteen floats that the compiler keeps in registers: one 512-bit register, two of 256, or four of 128.
#pragma once

#include <cstddef>
#include <cstring>

namespace wordferry {

constexpr std::size_t lane_count = 16;

#if defined(__GNUC__)

// A vector type of GCC and Clang; every operation is lane by lane.
typedef float Lanes __attribute__((vector_size(lane_count * sizeof(float)), aligned(64), may_alias));

#else

struct alignas(64) Lanes {
  float value[lane_count];
  float& operator[](std::size_t i) { return value[i]; }
  float operator[](std::size_t i) const { return value[i]; }
};

template <class Operation>
inline Lanes each_lane(const Lanes& a, const Lanes& b, Operation operation) {
  Lanes result;
  for (std::size_t i = 0; i < lane_count; ++i) result.value[i] = operation(a.value[i], b.value[i]);
  return result;
}

inline Lanes operator+(const Lanes& a, const Lanes& b) {
  return each_lane(a, b, [](float p, float q) { return p + q; });
}
inline Lanes operator-(const Lanes& a, const Lanes& b) {
  return each_lane(a, b, [](float p, float q) { return p - q; });
}
inline Lanes operator*(const Lanes& a, const Lanes& b) {
  return each_lane(a, b, [](float p, float q) { return p * q; });
}

#endif

}  // namespace wordferry
