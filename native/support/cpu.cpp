#include "support/cpu.hpp"

namespace wordferry {

const char* cpu_variant() {
#if defined(WORDFERRY_MULTIVERSION)
  if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3";
  return "x86-64";
#else
  return "plain";
#endif
}

}  // namespace wordferry
