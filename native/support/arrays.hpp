// Arrays as bound functions take them: of the right type, layout and place in memory, or refused with a TypeError
// before anything is run. Shapes and ranges are for the function itself to require.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
// What bound functions take and return; without its header a type is refused when a function is called.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace wordferry {

namespace nb = nanobind;
using namespace nb::literals;

// The name of an array argument, which is taken as it is and never converted.
inline auto operator""_in(const char* name, std::size_t) { return nb::arg(name).noconvert(); }

// An array whose elements lie at multiples of their size, as every loop over them takes for granted.
template <class Base>
struct Checked : Base {
  using Array = Base;
  Checked() = default;
  explicit Checked(Base base) : Base(std::move(base)) {}
  std::int64_t length(std::size_t axis = 0) const { return static_cast<std::int64_t>(this->shape(axis)); }
  auto span() const { return std::span(this->data(), this->size()); }
};

// Contiguous host arrays, read-only (In) or written by the kernel (Out). No silent conversion: bind with _in.
template <class T, int Dims = 1>
using In = Checked<nb::ndarray<const T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>>;
template <class T, int Dims = 1>
using Out = Checked<nb::ndarray<T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>>;
// A matrix that may be a part of a larger one; row_stride() refuses rows that are not contiguous.
using Matrix = Checked<nb::ndarray<float, nb::ndim<2>, nb::device::cpu>>;

// Refuses arguments that do not fit together.
inline void require(bool fits, const char* message) {
  if (!fits) throw nb::value_error(message);
}

// Refuses arrays with an element that does not fit.
template <class Array, class Fits>
void require_all(const Array& array, Fits&& fits, const char* message) {
  bool all = true;
  for (std::size_t i = 0; i < array.size(); ++i) all &= fits(array.data()[i]);
  require(all, message);
}

// Refuses arrays with a number outside of low .. high - 1.
template <class Array>
void require_range(const Array& array, std::int64_t low, std::int64_t high, const char* message) {
  require_all(array, [=](auto one) { return one >= low && one < high; }, message);
}

// Refuses arrays whose elements do not ascend.
template <class T>
void require_rising(const In<T>& values, const char* message) {
  bool rise = true;
  for (std::int64_t i = 1; i < values.length(); ++i) rise &= values.data()[i - 1] < values.data()[i];
  require(rise, message);
}

// Arrays, and whatever else something points into: kept as long as it is, and shared by its copies.
using Held = std::shared_ptr<const void>;
template <class... Arrays>
Held hold(const Arrays&... arrays) {
  return std::make_shared<const std::tuple<Arrays...>>(arrays...);
}

// An array that Python is given.
template <class T, std::size_t Dims = 1>
using Made = nb::ndarray<nb::numpy, T, nb::ndim<Dims>, nb::c_contig>;

// A new one, every element of which is `value`.
template <class T, class... Lengths>
Made<T, sizeof...(Lengths)> make_array(T value, Lengths... lengths) {
  constexpr std::size_t most = std::size_t{1} << 40;
  const std::size_t shape[] = {static_cast<std::size_t>(lengths)...};
  std::size_t size = 1;
  for (const std::size_t length : shape) {
    require(length <= most && (length == 0 || size <= most / length), "an array would be too large");
    size *= length;
  }
  auto values = std::make_unique<T[]>(size);
  std::fill_n(values.get(), size, value);
  nb::capsule owner(values.get(), [](void* data) noexcept { delete[] static_cast<T*>(data); });
  return Made<T, sizeof...(Lengths)>(values.release(), sizeof...(Lengths), shape, owner);
}

template <class T>
Made<T> as_array(std::vector<T> values) {
  auto* held = new std::vector<T>(std::move(values));
  nb::capsule owner(held, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  return {held->data(), {held->size()}, owner};
}

inline bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 64 == 0; }

inline std::int64_t row_stride(const Matrix& matrix) {
  require(matrix.shape(0) == 0 || matrix.shape(1) <= 1 || matrix.stride(1) == 1, "rows must be contiguous");
  return matrix.shape(0) > 1 ? matrix.stride(0) : matrix.length(1);
}

// The number of threads to run on: what was asked for, within reason.
inline int thread_limit(int threads) {
  constexpr int most = 1024;
  require(threads >= 1, "threads must be at least 1");
  return threads < most ? threads : most;
}

}  // namespace wordferry

template <class Base>
struct nanobind::detail::type_caster<wordferry::Checked<Base>> {
  using Inner = make_caster<Base>;
  NB_TYPE_CASTER(wordferry::Checked<Base>, Inner::Name)

  bool from_python(handle source, auto flags, cleanup_list* cleanup) noexcept {
    Inner inner;
    if (!inner.from_python(source, flags, cleanup)) return false;
    value = Value(std::move(inner.value));
    return value.size() == 0 || reinterpret_cast<std::uintptr_t>(value.data()) % alignof(typename Base::Scalar) == 0;
  }
};
