// What a row of inner products says of its pairs; shared by those who go through all of them.
#pragma once

#include <cstdint>

namespace wordferry {

constexpr std::int64_t scan_width = 128;  // pairs that are looked at together

// Pairs closer than this, relative to their norms, lose digits in |x|^2 + |y|^2 - 2xy: their distance in the sum is
// computed from differences instead.
constexpr float cancellation = 1.0F / 64;

// Squared distances of up to scan_width pairs of one row, which of them deserve a closer look, and the sum of the
// distances. Plain lines: squares[k] = norm + norms[k] - 2 products[k]; sum += sqrt(max(squares[k], 0)); flagged are
// pairs no further than either limit, and those that lose digits.
double scan_segment(const float* products, std::int64_t count, float norm, float limit, const float* norms,
                    const float* limits, float error, float* squares, std::uint8_t* flags);

}  // namespace wordferry
