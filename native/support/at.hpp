// An int as an index of a vector, without a warning and with little to read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wordferry {

constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }
constexpr std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
constexpr std::size_t at(std::size_t index) { return index; }

}  // namespace wordferry
