// A whole number as an index of a vector, without a warning and with little to read.
#pragma once

#include <concepts>
#include <cstddef>

namespace wordferry {

constexpr std::size_t at(std::integral auto index) { return static_cast<std::size_t>(index); }

}  // namespace wordferry
