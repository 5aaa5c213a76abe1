// Numbers in lines of text, for the readers of word vectors.
#include <nanobind/nanobind.h>

#include <charconv>
#include <cstddef>
#include <system_error>

#include "support/bind.hpp"

namespace wordferry {

namespace {

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

void bind_numbers(nb::module_& m) {
  m.def("parse_numbers", &parse_numbers, nb::arg("text"), nb::arg("begin"), nb::arg("out").noconvert(),
        "Numbers with one blank between them, from a place in a line on; False when the line holds anything else.");
}

}  // namespace wordferry
