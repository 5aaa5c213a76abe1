// Network simplex in exact arithmetic.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/at.hpp"
#include "transport/solver.hpp"

namespace wordferry {

namespace {

constexpr int units_a_conversion = 8;

// Exact sums of doubles: a signed fixed-point number of `Limbs` 64-bit words, in units of 2^unit. Network simplex
// needs nothing of a cost but adding, subtracting and comparing, so with enough limbs its answer is exact whatever
// the spread of the costs.
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
    const auto word = at(shift / 64);
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

template <int Limbs>
class ExactSimplex {
 public:
  ExactSimplex(const Solver& problem, Tree& tree, int unit, Pace& pace)
      : m_(problem.sources()), n_(problem.sinks()), unit_(unit), tree_(tree), pace_(pace) {
    cost_.reserve(at(m_) * at(n_));
    for (int i = 0; i < m_; ++i) {
      pace_.spend(std::int64_t{n_} * (Limbs + units_a_conversion));
      for (int j = 0; j < n_; ++j) cost_.emplace_back(problem.cost(i, j), unit);
    }
    potential_.resize(at(m_ + n_));
    set_potentials(1, m_ + n_);
  }

  std::int64_t run() {
    std::int64_t pivots = 0;
    while (price()) {
      ++pivots;
      pace_.spend(std::int64_t{m_ + n_} * Limbs);
      const Tree::Moved moved = tree_.pivot(source_, sink_);
      set_potentials(moved.begin, moved.begin + moved.count);
    }
    return pivots;
  }

  double dual(int node) const { return potential_[at(node)].value(unit_); }

 private:
  const Wide<Limbs>& cost(int i, int j) const { return cost_[at(i) * at(n_) + at(j)]; }

  void set_potentials(int begin, int end) {
    for (int k = begin; k < end; ++k) {
      const int node = tree_.order[at(k)];
      const int above = tree_.parent[at(node)];
      const Wide<Limbs>& arc = node < m_ ? cost(node, above - m_) : cost(above, node - m_);
      potential_[at(node)] = arc - potential_[at(above)];
    }
  }

  // The best arc of the next row that has a gaining one; when no row has, optimality is proved.
  bool price() {
    for (int step = 0; step < m_; ++step) {
      pace_.spend(std::int64_t{n_} * Limbs);
      const int i = next_row_;
      next_row_ = next_row_ + 1 == m_ ? 0 : next_row_ + 1;
      Wide<Limbs> best;
      sink_ = -1;
      for (int j = 0; j < n_; ++j) {
        const auto reduced = cost(i, j) - potential_[at(i)] - potential_[at(m_ + j)];
        if (!(reduced < best)) continue;
        best = reduced;
        sink_ = j;
      }
      if (sink_ < 0) continue;
      source_ = i;
      return true;
    }
    return false;
  }

  int m_, n_, unit_;
  Tree& tree_;
  Pace& pace_;
  std::vector<Wide<Limbs>> cost_, potential_;
  int next_row_ = 0, source_ = 0, sink_ = 0;
};

template <int Limbs>
std::int64_t solve(const Solver& problem, Tree& tree, int unit, std::vector<double>& dual, Pace& pace) {
  ExactSimplex<Limbs> exact(problem, tree, unit, pace);
  const std::int64_t pivots = exact.run();
  for (int node = 0; node < tree.nodes(); ++node) dual[at(node)] = exact.dual(node);
  return pivots;
}

// Exponents of the lowest bit of any cost, and of the highest.
struct Bits {
  int low = 1100, high = -1100;
};

Bits bits_of(const Solver& problem, Pace& pace) {
  Bits bits;
  for (int i = 0; i < problem.sources(); ++i) {
    pace.spend(std::int64_t{problem.sinks()} * units_a_conversion);
    for (int j = 0; j < problem.sinks(); ++j) {
      if (problem.cost(i, j) == 0) continue;
      int exponent = 0;
      const double fraction = std::frexp(std::fabs(problem.cost(i, j)), &exponent);
      const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
      bits.low = std::min(bits.low, exponent - 53 + std::countr_zero(mantissa));
      bits.high = std::max(bits.high, exponent);
    }
  }
  return bits.low > bits.high ? Bits{0, 0} : bits;
}

}  // namespace

std::int64_t exact_simplex(const Solver& problem, Tree& tree, std::vector<double>& dual, Pace& pace) {
  const Bits range = bits_of(problem, pace);
  // A potential is a sum of at most m + n costs, a reduced cost of twice that and one more; then the sign.
  const int bits = range.high - range.low + static_cast<int>(std::bit_width(static_cast<unsigned>(tree.nodes()))) + 4;
  if (bits <= 128) return solve<2>(problem, tree, range.low, dual, pace);
  if (bits <= 256) return solve<4>(problem, tree, range.low, dual, pace);
  return solve<36>(problem, tree, range.low, dual, pace);
}

}  // namespace wordferry
