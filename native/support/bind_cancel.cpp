// Cancelling: a token that any thread may set, and the context variable that says which one is in force.
#include "support/bind.hpp"

namespace wordferry {

namespace {

PyObject* current = nullptr;  // the ContextVar; it lives as long as the process

}  // namespace

nb::object current_token() { return nb::handle(current).attr("get")(); }

void set_cancelled_error() {
  const nb::object error = nb::module_::import_("wordferry.errors").attr("Cancelled");
  PyErr_SetString(error.ptr(), "The work was cancelled before it was done.");
}

void bind_cancel(nb::module_& m) {
  nb::class_<Token>(m, "Token", "A flag that kernels look at while they run.")
      .def(nb::init<>())
      .def("set", [](Token& self) { self.set.store(true); })
      .def_prop_ro("is_set", [](const Token& self) { return self.set.load(); });
  nb::object variable =
      nb::module_::import_("contextvars").attr("ContextVar")("wordferry_token", nb::arg("default") = nb::none());
  m.attr("current_token") = variable;
  current = variable.release().ptr();
}

}  // namespace wordferry
