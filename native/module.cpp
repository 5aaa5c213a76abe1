// The extension module: one bind function per component, and nothing else.
//
// On x86-64 it is built for several levels of instruction sets, and the first one loads that of the processor.
#include <nanobind/nanobind.h>

#if defined(WORDFERRY_DISPATCH)
#include <cstddef>
#include <cstdlib>
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

#include "support/pool.hpp"

namespace wordferry {

using Bind = void(nanobind::module_&);
Bind bind_support, bind_word_distances, bind_panels, bind_dense, bind_relaxed_pairs, bind_topk, bind_join, bind_related,
    bind_graph, bind_stored, bind_centroids, bind_list_bounds, bind_nearest_lists, bind_word_lists, bind_word_scores,
    bind_near_rows, bind_meaning, bind_texts, bind_transport, bind_transport_pair, bind_transport_documents;

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

// The highest of the levels 4, 3 and 1 that the processor and the system have; WORDFERRY_CPU_LEVEL may lower it.
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

}  // namespace

#endif

}  // namespace wordferry

NB_MODULE(WORDFERRY_MODULE, m) {
#if defined(WORDFERRY_DISPATCH)
  if (const int level = wordferry::cpu_level(); level > 1) {  // what stands in sys.modules after this is imported
    const char* const better = level == 4 ? "wordferry._native_v4" : "wordferry._native_v3";
    nanobind::module_::import_("sys").attr("modules")[m.attr("__name__")] = nanobind::module_::import_(better);
    return;
  }
#endif
  m.attr("__name__") = "wordferry._native";  // in every variant
  nanobind::set_leak_warnings(false);        // what is still in use when the interpreter ends is no fault of the user's
  wordferry::prepare_for_forks();
  m.doc() = "Kernels of wordferry: flat arrays in, arrays filled. Use them through wordferry.kernels.native.";
  m.def("cpu_variant", [] { return WORDFERRY_VARIANT; }, "The instruction-set variant the kernels run as.");
  using namespace wordferry;
  for (Bind* bind : {bind_support,       bind_word_distances, bind_panels,
                     bind_dense,         bind_relaxed_pairs,  bind_topk,
                     bind_join,          bind_related,        bind_graph,
                     bind_stored,        bind_centroids,      bind_list_bounds,
                     bind_nearest_lists, bind_word_lists,     bind_word_scores,
                     bind_near_rows,     bind_meaning,        bind_texts,
                     bind_transport,     bind_transport_pair, bind_transport_documents}) {
    bind(m);
  }
}
