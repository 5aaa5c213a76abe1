#include "support/cpu.hpp"

#if defined(WORDFERRY_DISPATCH)
#include <cstddef>
#include <cstdlib>
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace wordferry {

const char* cpu_variant() { return WORDFERRY_VARIANT; }

#if defined(WORDFERRY_DISPATCH)

namespace {

// Whether a register (0 is eax, 1 ebx, 2 ecx) has all of some bits; false where there is no such leaf.
bool has(unsigned leaf, std::size_t which, unsigned bits) {
#if defined(_MSC_VER)
  int all[4];
  __cpuid(all, static_cast<int>(leaf & 0x80000000u));
  if (static_cast<unsigned>(all[0]) < leaf) return false;
  __cpuidex(all, static_cast<int>(leaf), 0);
#else
  unsigned all[4];
  if (__get_cpuid_count(leaf, 0, all, all + 1, all + 2, all + 3) == 0) return false;
#endif
  return (static_cast<unsigned>(all[which]) & bits) == bits;
}

// Whether the system keeps all of some registers when it switches threads.
bool keeps(unsigned bits) {
#if defined(_MSC_VER)
  const auto kept = static_cast<unsigned>(_xgetbv(0));
#else
  unsigned kept, high;
  __asm__ volatile("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
#endif
  return (kept & bits) == bits;
}

}  // namespace

int cpu_level() {
  const char* const asked = std::getenv("WORDFERRY_CPU_LEVEL");
  const int most = asked == nullptr ? 4 : std::atoi(asked);
  // Levels as the System V ABI defines them. FMA, MOVBE, OSXSAVE, AVX and F16C; BMI1, AVX2 and BMI2; LZCNT; xmm and
  // ymm.
  if (most < 3 || !has(1, 2, 0x38401000u) || !has(7, 1, 0x128u) || !has(0x80000001u, 2, 0x20u) || !keeps(0x6u))
    return 1;
  // AVX-512 F, DQ, CD, BW and VL; masks and zmm.
  return most > 3 && has(7, 1, 0xD0030000u) && keeps(0xE0u) ? 4 : 3;
}

#endif

}  // namespace wordferry
