// The extension module: one bind function per component, and nothing else.
#include <nanobind/nanobind.h>

#include "cpu.hpp"

namespace wordferry {
void bind_cancel(nanobind::module_&);
void bind_panel(nanobind::module_&);
void bind_related(nanobind::module_&);
void bind_text(nanobind::module_&);
void bind_transport(nanobind::module_&);
}  // namespace wordferry

NB_MODULE(_native, m) {
  m.doc() = "Kernels of wordferry: flat arrays in, arrays filled. Use them through wordferry.kernels.native.";
  m.def("cpu_variant", &wordferry::cpu_variant, "The instruction-set variant the kernels run as.");
  wordferry::bind_cancel(m);
  wordferry::bind_panel(m);
  wordferry::bind_related(m);
  wordferry::bind_text(m);
  wordferry::bind_transport(m);
}
