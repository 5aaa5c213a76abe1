// Exact sums of doubles: a signed fixed-point number of `Limbs` 64-bit words, in units of 2^unit. Network simplex
// needs nothing of a cost but adding, subtracting and comparing, so with enough limbs its answer is exact whatever
// the spread of the costs.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace wordferry {

template <int Limbs>
class Wide {
 public:
  Wide() : limb_{} {}

  // `value` must be a whole multiple of 2^unit and small enough to fit.
  Wide(double value, int unit) : limb_{} {
    if (value == 0) return;
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    std::uint64_t mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
    int shift = exponent - 53 - unit;
    for (; shift < 0; ++shift) mantissa >>= 1;  // the bits that go are zero
    const auto word = static_cast<std::size_t>(shift / 64);
    limb_[word] = mantissa << (shift % 64);
    if (shift % 64 != 0 && word + 1 < Limbs) limb_[word + 1] = mantissa >> (64 - shift % 64);
    if (value < 0) *this = Wide() - *this;
  }

  friend Wide operator+(const Wide& a, const Wide& b) {
    Wide sum;
    unsigned carry = 0;
    for (std::size_t k = 0; k < Limbs; ++k) {
      const std::uint64_t partial = a.limb_[k] + b.limb_[k];
      sum.limb_[k] = partial + carry;
      carry = static_cast<unsigned>(partial < a.limb_[k]) | static_cast<unsigned>(sum.limb_[k] < partial);
    }
    return sum;
  }

  friend Wide operator-(const Wide& a, const Wide& b) {
    Wide difference;
    unsigned borrow = 0;
    for (std::size_t k = 0; k < Limbs; ++k) {
      const std::uint64_t partial = a.limb_[k] - b.limb_[k];
      difference.limb_[k] = partial - borrow;
      borrow = static_cast<unsigned>(a.limb_[k] < b.limb_[k]) | static_cast<unsigned>(partial < borrow);
    }
    return difference;
  }

  bool negative() const { return (limb_[Limbs - 1] >> 63) != 0; }
  friend bool operator<(const Wide& a, const Wide& b) { return (a - b).negative(); }
  friend bool operator==(const Wide& a, const Wide& b) = default;

  // The nearest double or one beside it, for people to read.
  double value(int unit) const {
    if (negative()) return -(Wide() - *this).value(unit);
    double sum = 0;
    for (std::size_t k = Limbs; k-- > 0;) {
      sum += std::ldexp(static_cast<double>(limb_[k]), static_cast<int>(64 * k) + unit);
    }
    return sum;
  }

 private:
  std::array<std::uint64_t, Limbs> limb_;
};

}  // namespace wordferry
