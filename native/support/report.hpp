// Progress and interrupts for kernels that run long: asked every 50 ms on the calling thread.
#pragma once

#include <atomic>

#include "support/bind.hpp"

namespace wordferry {

// Calls `work(done, watch)` without the GIL. `progress` is None or a Python callable (done, total).
template <class Work>
void run_reporting(const nb::object& progress, std::int64_t total, Work&& work) {
  std::atomic<std::int64_t> done{0};
  const Poll poll = [&]() {
    const HeldGil gil;
    if (PyErr_CheckSignals() != 0) return true;
    if (progress.is_none()) return false;
    try {
      progress(done.load(), total);
      return false;
    } catch (nb::python_error& error) {  // the caller's function raised: stop, and let it through
      error.restore();
      return true;
    }
  };
  run_native([&](Watch& watch) { work(done, watch); }, poll);
}

}  // namespace wordferry
