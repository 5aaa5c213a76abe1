// Flat views that kernels work on. They own nothing and check nothing: the Python side has done that.
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

}  // namespace wordferry
