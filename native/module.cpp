// The extension module: one bind function per component, and nothing else.
#include <nanobind/nanobind.h>

#include "support/cpu.hpp"
#include "support/pool.hpp"

namespace wordferry {
using Bind = void(nanobind::module_&);
Bind bind_support, bind_relaxed, bind_join, bind_related, bind_stored, bind_centroids, bind_nearest_lists,
    bind_word_search, bind_meaning, bind_texts, bind_transport;
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
  using namespace wordferry;
  for (Bind* bind : {bind_support, bind_relaxed, bind_join, bind_related, bind_stored, bind_centroids,
                     bind_nearest_lists, bind_word_search, bind_meaning, bind_texts, bind_transport}) {
    bind(m);
  }
}
