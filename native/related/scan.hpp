// What a row of inner products says of its pairs; shared by those who go through all of them.
#pragma once

#include <cstdint>
#include <limits>

namespace wordferry {

constexpr float unlimited = std::numeric_limits<float>::infinity();

// A word by its squared distance from another one; ties go to the smaller id.
struct RankedWord {
  double square;
  std::int32_t id;
  bool operator<(const RankedWord& other) const {
    return square < other.square || (square == other.square && id < other.id);
  }
};

constexpr std::int64_t scan_width = 128;  // pairs that are looked at together

// Squared distances of up to scan_width pairs of one row, which of them deserve a closer look, and the sum of the
// distances. Plain lines: squares[k] = norm + norms[k] - 2 products[k]; sum += sqrt(max(squares[k], 0)); flagged are
// pairs no further than either limit, and those that lose digits.
double scan_segment(const float* products, std::int64_t count, float norm, float limit, const float* norms,
                    const float* limits, float error, float* squares, std::uint8_t* flags);

}  // namespace wordferry
