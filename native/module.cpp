// The extension module: one bind function per component, and nothing else.
#include <nanobind/nanobind.h>

#include "support/cpu.hpp"
#include "support/pool.hpp"

namespace wordferry {
void bind_support(nanobind::module_&);
void bind_relaxed(nanobind::module_&);
void bind_join(nanobind::module_&);
void bind_related(nanobind::module_&);
void bind_place_lists(nanobind::module_&);
void bind_stored(nanobind::module_&);
void bind_all_bounds(nanobind::module_&);
void bind_centroids(nanobind::module_&);
void bind_nearest_lists(nanobind::module_&);
void bind_word_search(nanobind::module_&);
void bind_meaning(nanobind::module_&);
void bind_texts(nanobind::module_&);
void bind_transport(nanobind::module_&);
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
  m.def("cpu_variant", &wordferry::cpu_variant, "The instruction-set variant the kernels run as.");
  wordferry::bind_support(m);
  wordferry::bind_relaxed(m);
  wordferry::bind_related(m);
  wordferry::bind_join(m);
  wordferry::bind_place_lists(m);
  wordferry::bind_stored(m);
  wordferry::bind_all_bounds(m);
  wordferry::bind_nearest_lists(m);
  wordferry::bind_centroids(m);
  wordferry::bind_word_search(m);
  wordferry::bind_meaning(m);
  wordferry::bind_texts(m);
  wordferry::bind_transport(m);
}
