// The sparse matrices that kernels take.
#include <nanobind/stl/pair.h>

#include "support/bind.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

template <class Value>
void bind_view(nb::module_& m, const char* name, const char* what) {
  nb::class_<CsrView<Value>>(m, name, what)
      .def(nb::init<In<std::int64_t>, In<std::int32_t>, In<Value>, std::int64_t>(), nb::arg("indptr").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("data").noconvert(), nb::arg("columns"))
      .def("widened", &CsrView<Value>::widened, nb::arg("columns"), "The same rows over at least so many columns.")
      .def_prop_ro("shape", [](const CsrView<Value>& self) { return std::pair(self.rows(), self.columns()); });
}

}  // namespace

void bind_views(nb::module_& m) {
  bind_view<float>(m, "Csr", "A sparse matrix of float32, checked once; its arrays must not be changed after that.");
  bind_view<std::int64_t>(m, "WholeCsr", "Documents with whole weights, words rising; checked once, as Csr is.");
}

}  // namespace wordferry
