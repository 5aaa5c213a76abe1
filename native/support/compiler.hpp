// What compilers say differently. Everything else is standard C++20; with WORDFERRY_PLAIN_LANES this is too.
#pragma once

#if defined(__GNUC__) && !defined(WORDFERRY_PLAIN_LANES)  // GCC and Clang
#define WF_GNU 1
#endif

#if defined(WF_GNU)
#define WF_ALWAYS_INLINE __attribute__((always_inline)) inline
#define WF_INLINE_LAMBDA __attribute__((always_inline))
#define WF_FLATTEN __attribute__((flatten))
#define WF_RESTRICT __restrict__
#elif defined(_MSC_VER)
#define WF_ALWAYS_INLINE __forceinline
#define WF_INLINE_LAMBDA
#define WF_FLATTEN
#define WF_RESTRICT __restrict
#else
#define WF_ALWAYS_INLINE inline
#define WF_INLINE_LAMBDA
#define WF_FLATTEN
#define WF_RESTRICT
#endif

namespace wordferry {

// Asks for the cache line at an address, to be read soon; where a compiler cannot, nothing is lost but time.
inline void prefetch_line([[maybe_unused]] const void* address) {
#if defined(WF_GNU)
  __builtin_prefetch(address);
#endif
}

}  // namespace wordferry
