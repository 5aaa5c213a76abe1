// Warps of 32 lanes, for two compilers: under CUDA a lane is a thread, in plain C++ a warp is a loop over its lanes and
// a block a loop over its warps, so that tests and sanitizers run the very code of the device on any machine.
//
// Code between WF_LANES loops is the same for all lanes of a warp. What a lane keeps from one loop to the next is a
// Lanes<T> or a LaneArray<T, N>; lanes meet in the warp_* functions, in shared memory after WF_FENCE, and warps of a
// block in shared memory after WF_BARRIER, which stands outside WF_WARPS.
#pragma once

#ifdef __CUDACC__

#define WF_DEVICE __device__ __forceinline__
#define WF_KERNEL(name) extern "C" __global__ void name
#define WF_WARPS(warp) if (const int warp = static_cast<int>(threadIdx.x >> 5); true)
#define WF_LANES(lane) if (const int lane = static_cast<int>(threadIdx.x & 31); true)
#define WF_BARRIER() __syncthreads()
#define WF_FENCE() __syncwarp()
#define WF_UNROLL _Pragma("unroll")
#define WF_UNROLL_SOME _Pragma("unroll 4")
#define WF_LOOP _Pragma("unroll 1")

namespace wordferry {

using Index = long long;
extern __shared__ double wf_memory[];

WF_DEVICE Index block_number() { return static_cast<Index>(blockIdx.x); }
WF_DEVICE int warp_total() { return static_cast<int>(blockDim.x >> 5); }
WF_DEVICE double* shared_memory() { return wf_memory; }

template <class T>
struct Lanes {
  T value;
  WF_DEVICE T& operator[](int) { return value; }
};

template <class T, int N>
struct LaneArray {
  T value[N];
  WF_DEVICE T& operator()(int, int slot) { return value[slot]; }
};

WF_DEVICE unsigned bits_of(float value) { return __float_as_uint(value); }
WF_DEVICE float float_of(unsigned bits) { return __uint_as_float(bits); }
WF_DEVICE float fused(float a, float b, float c) { return fmaf(a, b, c); }
WF_DEVICE double fused(double a, double b, double c) { return fma(a, b, c); }
// a * b + c rounded twice, as the kernels of the CPU do it; the compiler would fuse the two.
WF_DEVICE float unfused(float a, float b, float c) { return __fadd_rn(__fmul_rn(a, b), c); }
WF_DEVICE double unfused(double a, double b, double c) { return __dadd_rn(__dmul_rn(a, b), c); }
WF_DEVICE float root(float value) { return __fsqrt_rn(value); }
WF_DEVICE float rough_root(float value) {
  float found;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(found) : "f"(value));
  return found;
}
WF_DEVICE float rough_power_of_two(float value) {
  float found;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(found) : "f"(value));
  return found;
}
WF_DEVICE float rough_quotient(float a, float b) { return __fdividef(a, b); }
WF_DEVICE float log_two(float value) { return log2f(value); }
WF_DEVICE double exponential(double value) { return exp(value); }
WF_DEVICE double logarithm(double value) { return log(value); }
WF_DEVICE float lesser(float a, float b) { return fminf(a, b); }
WF_DEVICE float greater(float a, float b) { return fmaxf(a, b); }
WF_DEVICE double lesser(double a, double b) { return fmin(a, b); }
WF_DEVICE double greater(double a, double b) { return fmax(a, b); }
WF_DEVICE int lowest_bit(unsigned mask) { return __ffs(static_cast<int>(mask)) - 1; }
WF_DEVICE int bits_set(unsigned mask) { return __popc(mask); }
WF_DEVICE void atomic_least(unsigned* place, unsigned value) { atomicMin(place, value); }
WF_DEVICE unsigned atomic_set_bits(unsigned* place, unsigned mask) { return atomicOr(place, mask); }  // those before
WF_DEVICE void atomic_add(double* place, double value) { atomicAdd(place, value); }
// The next of the numbers 0, 1, ... that blocks draw from one place.
WF_DEVICE Index drawn(unsigned* place) {
  return static_cast<Index>(__shfl_sync(0xffffffffu, (threadIdx.x & 31) == 0 ? atomicAdd(place, 1u) : 0u, 0));
}

WF_DEVICE unsigned warp_ballot(Lanes<bool>& flag) { return __ballot_sync(0xffffffffu, flag.value); }
WF_DEVICE unsigned warp_least(Lanes<unsigned>& key) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(0xffffffffu, key.value);
#else
  unsigned value = key.value;
  for (int step = 16; step > 0; step >>= 1) value = min(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
#endif
}
template <class T>
WF_DEVICE T warp_sum(Lanes<T>& term) {
  T value = term.value;
  for (int step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}
WF_DEVICE double warp_least(Lanes<double>& term) {
  double value = term.value;
  for (int step = 16; step > 0; step >>= 1) value = fmin(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}
// The least of numbers that are not negative.
WF_DEVICE long long warp_least(Lanes<long long>& term) {
  Lanes<unsigned> part{static_cast<unsigned>(term.value >> 32)};
  const unsigned high = warp_least(part);
  part.value = part.value == high ? static_cast<unsigned>(term.value) : 0xffffffffu;
  return static_cast<long long>(high) << 32 | warp_least(part);
}
template <class T>
WF_DEVICE T warp_from(Lanes<T>& value, int lane) {
  return __shfl_sync(0xffffffffu, value.value, lane);
}

}  // namespace wordferry

#else

#include <algorithm>
#include <cmath>
#include <cstring>

#define WF_DEVICE inline
#define WF_KERNEL(name) extern "C" void name
#define WF_WARPS(warp) for (int warp = 0; warp < wordferry::emulated.warps; ++warp)
#define WF_LANES(lane) for (int lane = 0; lane < 32; ++lane)
#define WF_BARRIER() static_cast<void>(0)
#define WF_FENCE() static_cast<void>(0)
#define WF_UNROLL
#define WF_UNROLL_SOME
#define WF_LOOP

namespace wordferry {

using Index = long long;

struct Emulated {
  Index block = 0;
  int warps = 1;
  double* memory = nullptr;
};
inline thread_local Emulated emulated;

WF_DEVICE Index block_number() { return emulated.block; }
WF_DEVICE int warp_total() { return emulated.warps; }
WF_DEVICE double* shared_memory() { return emulated.memory; }

template <class T>
struct Lanes {
  T value[32];
  T& operator[](int lane) { return value[lane]; }
};

template <class T, int N>
struct LaneArray {
  T value[32][N];
  T& operator()(int lane, int slot) { return value[lane][slot]; }
};

WF_DEVICE unsigned bits_of(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
WF_DEVICE float float_of(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
WF_DEVICE float fused(float a, float b, float c) { return std::fma(a, b, c); }
WF_DEVICE double fused(double a, double b, double c) { return std::fma(a, b, c); }
WF_DEVICE float unfused(float a, float b, float c) { return a * b + c; }  // compiled with -ffp-contract=off
WF_DEVICE double unfused(double a, double b, double c) { return a * b + c; }
WF_DEVICE float root(float value) { return std::sqrt(value); }
WF_DEVICE float rough_root(float value) { return std::sqrt(value); }
WF_DEVICE float rough_power_of_two(float value) { return std::exp2(value); }
WF_DEVICE float rough_quotient(float a, float b) { return a / b; }
WF_DEVICE float log_two(float value) { return std::log2(value); }
WF_DEVICE double exponential(double value) { return std::exp(value); }
WF_DEVICE double logarithm(double value) { return std::log(value); }
WF_DEVICE float lesser(float a, float b) { return std::fmin(a, b); }
WF_DEVICE float greater(float a, float b) { return std::fmax(a, b); }
WF_DEVICE double lesser(double a, double b) { return std::fmin(a, b); }
WF_DEVICE double greater(double a, double b) { return std::fmax(a, b); }
WF_DEVICE int lowest_bit(unsigned mask) { return __builtin_ffs(static_cast<int>(mask)) - 1; }
WF_DEVICE int bits_set(unsigned mask) { return __builtin_popcount(mask); }
WF_DEVICE void atomic_least(unsigned* place, unsigned value) { *place = std::min(*place, value); }
WF_DEVICE unsigned atomic_set_bits(unsigned* place, unsigned mask) {
  const unsigned before = *place;
  *place |= mask;
  return before;
}
WF_DEVICE void atomic_add(double* place, double value) { *place += value; }
WF_DEVICE Index drawn(unsigned* place) { return static_cast<Index>((*place)++); }

WF_DEVICE unsigned warp_ballot(Lanes<bool>& flag) {
  unsigned mask = 0;
  WF_LANES(lane) mask |= flag[lane] ? 1u << lane : 0u;
  return mask;
}
template <class T>
WF_DEVICE T warp_sum(Lanes<T>& term) {
  T halves[32];
  std::copy_n(term.value, 32, halves);
  for (int step = 16; step > 0; step >>= 1) {  // in the order of the device, so that sums have its rounding
    for (int lane = 0; lane < step; ++lane) halves[lane] += halves[lane + step];
  }
  return halves[0];
}
template <class T>
WF_DEVICE T warp_least(Lanes<T>& term) {
  return *std::min_element(term.value, term.value + 32);
}
template <class T>
WF_DEVICE T warp_from(Lanes<T>& value, int lane) {
  return value[lane];
}

}  // namespace wordferry

#endif

namespace wordferry {

constexpr unsigned infinity_bits = 0x7f800000u;
constexpr float no_cost = 1e30f;  // onto no word, where nothing moves either; finite, so that 0 times it is 0
WF_DEVICE float infinite() { return float_of(infinity_bits); }
WF_DEVICE float no_number() { return float_of(0x7fffffffu); }
// Unsigned numbers in the order of floats, negative ones included.
WF_DEVICE unsigned in_order(float value) {
  const unsigned bits = bits_of(value);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
WF_DEVICE float from_order(unsigned key) { return float_of((key >> 31) != 0 ? key & 0x7fffffffu : ~key); }

struct alignas(16) Four {
  float value[4];
};

struct alignas(8) Two {
  unsigned value[2];
};

// Rows of (word, value), one for each document.
struct Documents {
  const Index* indptr;
  const int* words;
  const float* masses;
};

// The place of a word among words that rise, or -1.
WF_DEVICE int place_among(const int* words, int count, int word) {
  int low = 0, high = count;
  WF_LOOP
  while (low < high) {
    const int middle = (low + high) / 2;
    if (words[middle] < word) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && words[low] == word ? low : -1;
}

struct Graph {
  const Index* indptr;
  const int* words;
  const float* costs;
};

}  // namespace wordferry
