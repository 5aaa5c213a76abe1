#include "lists/row_sums.hpp"

#include "support/cpu.hpp"

namespace wordferry {

WF_CLONES
std::int64_t largest_word(const std::uint16_t* words, std::int64_t count) {
  std::uint16_t largest = 0;
  for (std::int64_t k = 0; k < count; ++k) largest = words[k] > largest ? words[k] : largest;
  return largest;
}

WF_CLONES
std::int64_t largest_word(const std::int32_t* words, std::int64_t count) {
  std::uint32_t largest = 0;  // a negative number becomes a very large one
  for (std::int64_t k = 0; k < count; ++k) {
    const auto word = static_cast<std::uint32_t>(words[k]);
    largest = word > largest ? word : largest;
  }
  return largest;
}

}  // namespace wordferry
