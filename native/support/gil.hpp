// Python's lock, given up and taken in a way that survives the end of the interpreter.
//
// A daemon thread that asks for the lock once Python is ending is ended by CPython with pthread_exit, which unwinds the
// C++ frames below as an exception would; those are noexcept in part, and the process would abort. Such a thread waits
// for the end of the process instead, as CPython 3.14 lets it do.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

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

}  // namespace wordferry
