// What concerns all kernels: the sparse matrices that they take, tokens that stop them, numbers in lines of text.
#include <charconv>
#include <cstddef>
#include <system_error>

#include "support/bind.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

PyObject* current = nullptr;  // the ContextVar; it lives as long as the process

template <class Value>
void bind_view(nb::module_& m, const char* name, const char* what) {
  nb::class_<CsrView<Value>>(m, name, what)
      .def(nb::init<const In<std::int64_t>&, const In<std::int32_t>&, const In<Value>&, std::int64_t>(), "indptr"_in,
           "indices"_in, "data"_in, "columns"_a)
      .def("widened", &CsrView<Value>::widened, "columns"_a, "These rows over at least `columns` columns.")
      .def_prop_ro("shape", [](const CsrView<Value>& self) { return std::pair(self.rows, self.columns); });
}

// Fills `out` with the numbers of text[begin ..], which one blank separates. False when it holds anything else, or what
// only Python takes for a number (+1, 1_000): the caller then reads it the slow way and says what is wrong.
bool parse_numbers([[maybe_unused]] const nb::bytes& text, [[maybe_unused]] std::size_t begin,
                   [[maybe_unused]] Out<float> out) {
#if defined(__cpp_lib_to_chars)
  if (begin > text.size()) return false;
  const char* at = text.c_str() + begin;
  const char* end = text.c_str() + text.size();
  for (std::size_t k = 0; k < out.shape(0); ++k) {
    if (k > 0 && (at == end || *at++ != ' ')) return false;
    double number = 0;  // rounded to float32 from float64, as Python's float() is when it is stored
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return false;
    out.data()[k] = static_cast<float>(number);
    at = rest;
  }
  return at == end;
#else
  return false;
#endif
}

}  // namespace

nb::object current_token() { return nb::handle(current).attr("get")(); }

Poll python_poll(const nb::object& progress, std::int64_t total) {
  return [&progress, total](std::int64_t done) {
    const HeldGil gil;
    if (PyErr_CheckSignals() != 0) return true;
    if (progress.is_none()) return false;
    try {
      progress(done, total);
      return false;
    } catch (nb::python_error& error) {  // the caller's function raised: stop, and let it through
      error.restore();
      return true;
    }
  };
}

void set_cancelled_error() {
  const nb::object error = nb::module_::import_("wordferry.errors").attr("Cancelled");
  PyErr_SetString(error.ptr(), "The work was cancelled before it was done.");
}

void bind_support(nb::module_& m) {
  bind_view<float>(m, "Csr", "A sparse matrix of float32, checked once; its arrays must not be changed after that.");
  bind_view<std::int64_t>(m, "WholeCsr", "Documents with whole weights, words rising; checked once, as Csr is.");
  nb::class_<Token>(m, "Token", "A flag that kernels look at while they run.")
      .def(nb::init<>())
      .def("set", [](Token& self) { self.set.store(true); })
      .def_prop_ro("is_set", [](const Token& self) { return self.set.load(); });
  nb::object variable =
      nb::module_::import_("contextvars").attr("ContextVar")("wordferry_token", "default"_a = nb::none());
  m.attr("current_token") = variable;
  current = variable.release().ptr();
  m.def("parse_numbers", &parse_numbers, "text"_a, "begin"_a, "out"_in,
        "Numbers with one blank between them, from a place in a line on; False when the line holds anything else.");
}

}  // namespace wordferry
