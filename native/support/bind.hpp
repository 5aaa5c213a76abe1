// How a kernel is run from Python: without the GIL, stopped by Ctrl-C or by the token of its context.
//
// A daemon thread that asks for the lock once Python is ending is ended by CPython with pthread_exit, which unwinds the
// C++ frames below as an exception would; those are noexcept in part, and the process would abort. Such a thread waits
// for the end of the process instead, as CPython 3.14 lets it do.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/arrays.hpp"
#include "support/pool.hpp"

namespace wordferry {

template <class Take>
auto take_gil(Take&& take) {
  try {
    return take();
  } catch (...) {  // never left: whoever leaves a forced unwinding aborts
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

// Without the lock, within a scope.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    take_gil([this] { PyEval_RestoreThread(state_); });
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

// With the lock, within a scope.
class HeldGil {
 public:
  HeldGil() : state_(take_gil([] { return PyGILState_Ensure(); })) {}
  ~HeldGil() { PyGILState_Release(state_); }
  HeldGil(const HeldGil&) = delete;
  HeldGil& operator=(const HeldGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// What Python's Cancel sets from another thread; the ContextVar `current_token` holds the one that is in force.
struct Token {
  std::atomic<bool> set{false};
};

// The token of the calling context, or None.
nb::object current_token();

// Sets wordferry.errors.Cancelled as the Python error.
void set_cancelled_error();

// Asks Python whether to stop: true when a signal handler raised (Ctrl-C), or `progress`, None or a callable
// (done, total); the Python error is then set. Called without the GIL.
Poll python_poll(const nb::object& progress, std::int64_t total);

// Runs `work(watch)` without the GIL and turns Interrupted into the Python exception that caused it.
template <class Work>
void run_native(Work&& work, const nb::object& progress = nb::none(), std::int64_t total = 0) {
  const nb::object held = current_token();  // stays alive as long as the watch looks at it
  const Token* token = held.is_none() ? nullptr : &nb::cast<const Token&>(held);
  try {
    const ReleasedGil released;
    Watch watch(python_poll(progress, total), token == nullptr ? nullptr : &token->set);
    watch.check();
    work(watch);
  } catch (const Interrupted&) {
    if (PyErr_Occurred() == nullptr) set_cancelled_error();
    throw nb::python_error();
  }
}

// The same for body(block, worker, watch) of each block, on threads.
template <class Body>
void run_blocks(std::int64_t blocks, int threads, const Body& body) {
  run_native([&](Watch& watch) {
    const auto one = [&](std::int64_t block, int worker) { body(block, worker, watch); };
    for_blocks(blocks, thread_limit(threads), one, watch);
  });
}

}  // namespace wordferry
