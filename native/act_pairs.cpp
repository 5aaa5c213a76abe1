// act: iterative constrained transfers (Atasu & Mittelholzer 2019, "Linear-complexity data-parallel earth mover's
// distance approximations"). Each word fills its nearest words up to their masses, ignoring what others sent there.
#include <algorithm>
#include <limits>

#include "cost_rows.hpp"
#include "document_pairs.hpp"

namespace wordferry {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::size_t at(int index) { return static_cast<std::size_t>(index); }

class ActPairs : public Pairs {
 public:
  ActPairs(const Bags& x, const Bags& y, const DenseCosts& costs, int transfers, bool residual)
      : excess_(x, y, false), all_(x, y, true), costs_(costs), transfers_(transfers), residual_(residual) {}

  void begin(std::int64_t query, std::int64_t) override { query_ = query; }

  double bound(std::int64_t other) override {
    double value = 0;
    other_ = other;
    if (!excess_.find(query_, other, value)) return value;
    const Left& from = excess_.left();
    if (!residual_) all_.find(query_, other, value);
    const Left& to = residual_ ? from : all_.left();
    const double there = one_way(from.x_words, from.x_mass, to.y_words, to.y_mass, false);
    const double back = one_way(from.y_words, from.y_mass, to.x_words, to.x_mass, true);
    return std::max(there, back) / from.total;
  }

  double solve(std::int64_t other, const Stopped&) override { return bound(other); }

 private:
  float cost(std::int32_t from, std::int32_t to, bool back) const {
    return back ? costs_.row(to)[costs_.column_of[from]] : costs_.row(from)[costs_.column_of[to]];
  }

  double one_way(const std::vector<std::int32_t>& words, const std::vector<Mass>& masses,
                 const std::vector<std::int32_t>& targets, const std::vector<Mass>& room, bool back) {
    const auto n = static_cast<int>(targets.size());
    const int width = padded(n);
    row_.assign(at(width), infinity);
    zero_.assign(at(width), 0);
    double total = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (int j = 0; j < n; ++j) row_[at(j)] = targets[at(j)] == words[i] ? infinity : cost(words[i], targets[at(j)], back);
      Mass mass = masses[i];
      for (int step = 0; mass > 0; ++step) {
        const Least nearest = row_least(row_.data(), zero_.data(), width);
        if (nearest.index < 0) throw Unsolved{query_, other_};  // no finite distance is left
        const Mass moved = step < transfers_ ? std::min(mass, room[at(nearest.index)]) : mass;
        total += static_cast<double>(moved) * static_cast<double>(nearest.value);
        mass -= moved;
        row_[at(nearest.index)] = infinity;
      }
    }
    return total;
  }

  Rest excess_, all_;
  DenseCosts costs_;
  int transfers_;
  bool residual_;
  std::vector<float> row_, zero_;
  std::int64_t query_ = 0, other_ = 0;
};

}  // namespace

std::unique_ptr<Pairs> act_pairs(const Bags& x, const Bags& y, const DenseCosts& costs, int transfers, bool residual) {
  return std::make_unique<ActPairs>(x, y, costs, transfers, residual);
}

}  // namespace wordferry
