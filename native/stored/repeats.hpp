// How much a word counts that a document has more than once.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace wordferry {

enum class Growth { counts, logarithm, saturation };

// 1 + ln(count).
inline double one_and_logarithm(std::int64_t count) {
  static const auto small = [] {
    std::array<double, 256> values{};
    for (std::size_t i = 1; i < values.size(); ++i) values[i] = 1.0 + std::log(static_cast<double>(i));
    return values;
  }();
  const auto place = static_cast<std::uint64_t>(count);
  return place < small.size() ? small[place] : 1.0 + std::log(static_cast<double>(count));
}

// A word that stands in a document once counts 1. More of it never count for more than as often as they stand there.
struct Repeats {
  Growth growth = Growth::counts;
  const double* room = nullptr;  // saturation, of each row: the more there is, the later the word stops to count

  double times(std::int64_t count, std::int64_t row) const {
    const auto number = static_cast<double>(count);
    if (growth == Growth::counts || count <= 1) return number;
    return growth == Growth::logarithm ? one_and_logarithm(count) : number * (1.0 + room[row]) / (number + room[row]);
  }
};

}  // namespace wordferry
