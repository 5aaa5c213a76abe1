// What every bind_*.cpp shares: array types, spans, and the interrupt poll.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "csr.hpp"
#include "pool.hpp"

namespace wordferry {

namespace nb = nanobind;

// Contiguous host arrays, read-only (In) or written by the kernel (Out). No silent conversion: bind with .noconvert().
template <class T, int Dims = 1>
using In = nb::ndarray<const T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;
template <class T, int Dims = 1>
using Out = nb::ndarray<T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;

template <class Value>
Csr<Value> csr(const In<std::int64_t>& indptr, const In<std::int32_t>& indices, const In<Value>& data) {
  return {indptr.data(), indices.data(), data.data(), static_cast<std::int64_t>(indptr.shape(0)) - 1};
}

// True when a signal handler raised (Ctrl-C); the Python error is then set. Call without the GIL.
inline bool python_poll() {
  const nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

// Runs `work(poll)` without the GIL and turns Interrupted into the pending Python exception.
template <class Work>
void run_native(Work&& work) {
  try {
    const nb::gil_scoped_release release;
    work(Poll(python_poll));
  } catch (const Interrupted&) {
    throw nb::python_error();
  }
}

}  // namespace wordferry
