// Flat views that kernels work on. They own nothing and check nothing: a CsrView (view.hpp) has done that.
#pragma once

#include <cstdint>

namespace wordferry {

template <class Value>
struct Csr {
  const std::int64_t* indptr;   // rows + 1
  const std::int32_t* indices;  // sorted within a row, no duplicates
  const Value* data;
  std::int64_t rows;
};

using CsrF = Csr<float>;

// Whole masses add up to this at most, so that sums and differences of a few of them fit in 64 bits.
constexpr std::int64_t largest_mass = std::int64_t{1} << 61;

}  // namespace wordferry
