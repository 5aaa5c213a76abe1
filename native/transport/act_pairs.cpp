// act: iterative constrained transfers (Atasu & Mittelholzer 2019, "Linear-complexity data-parallel earth mover's
// distance approximations"). Each word fills its nearest words up to their masses, ignoring what others sent there.
#include <algorithm>
#include <limits>

#include "support/at.hpp"
#include "transport/cost_rows.hpp"
#include "transport/document_pairs.hpp"

namespace wordferry {

namespace {

constexpr float infinite_distance = std::numeric_limits<float>::infinity();

class ActPairs : public Pairs {
 public:
  ActPairs(const Bags& x, const Bags& y, const DenseCosts& costs, const TransportRule& rule, Watch& watch)
      : excess_(x, y, false), all_(x, y, true), costs_(costs), transfers_(rule.transfers),
        residual_(rule.kind == TransportKind::act_residual), pace_(watch) {}

  void begin(std::int64_t query, std::int64_t) override { query_ = query; }

  double bound(std::int64_t other) override {
    double value = 0;
    other_ = other;
    if (!excess_.find(query_, other, value)) return value;
    const Left& from = excess_.left();
    if (!residual_) all_.find(query_, other, value);
    const Left& to = residual_ ? from : all_.left();
    gather(to);
    const Flat rows{costs_.row_of, costs_.shared_row}, columns{costs_.column_of, costs_.shared_column};
    const double there = one_way(from.x.words, from.x.mass, to.x.words, to.y.mass, there_, rows);
    const double back = one_way(from.y.words, from.y.mass, to.y.words, to.x.mass, back_, columns);
    return std::max(there, back) / from.total;
  }

  double solve(std::int64_t other) override { return bound(other); }

 private:
  // A row of costs for each word that may send, padded with infinity.
  struct Costs {
    std::vector<float> cells;
    int width = 0;
    void reset(std::size_t rows, std::size_t columns) {
      width = padded(static_cast<int>(columns));
      cells.assign(rows * at(width), infinite_distance);
    }
    float* row(std::size_t i) { return cells.data() + i * at(width); }
  };

  // Which words cost the same onto all others, so that it does not matter where their mass goes.
  struct Flat {
    const std::int32_t* place_of;
    std::int32_t shared;
    bool has(std::int32_t word) const { return shared >= 0 && place_of[word] == shared; }
  };

  // The costs of all words of x to all of y, and the other way round; a word does not go to itself.
  void gather(const Left& to) {
    const std::size_t xs = to.x.words.size(), ys = to.y.words.size();
    columns_.resize(ys);
    for (std::size_t j = 0; j < ys; ++j) columns_[j] = costs_.column_of[to.y.words[j]];
    there_.reset(xs, ys);
    back_.reset(ys, xs);
    for (std::size_t i = 0; i < xs; ++i) {
      pace_.spend(static_cast<std::int64_t>(ys));
      const float* from = costs_.row(to.x.words[i]);
      float* row = there_.row(i);
      for (std::size_t j = 0; j < ys; ++j) row[j] = from[columns_[j]];
    }
    for (std::size_t i = 0, j = 0; i < xs && j < ys;) {  // both in rising order
      if (to.x.words[i] == to.y.words[j]) there_.row(i)[j] = infinite_distance;
      to.x.words[i] < to.y.words[j] ? ++i : ++j;
    }
    for (std::size_t j = 0; j < ys; ++j) {
      pace_.spend(static_cast<std::int64_t>(xs));
      float* row = back_.row(j);
      for (std::size_t i = 0; i < xs; ++i) row[i] = there_.row(i)[j];
    }
  }

  // `words`, some of `all`, send their masses; a row of costs is used up on the way.
  double one_way(const std::vector<std::int32_t>& words, const std::vector<Mass>& masses,
                 const std::vector<std::int32_t>& all, const std::vector<Mass>& room, Costs& costs, const Flat& flat) {
    zero_.assign(at(costs.width), 0);
    double total = 0;
    std::size_t place = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      while (all[place] != words[i]) ++place;
      float* row = costs.row(place);
      Mass mass = masses[i];
      if (flat.has(words[i])) {
        total += static_cast<double>(mass) * static_cast<double>(costs_.costs[costs_.columns * costs_.shared_row]);
        continue;
      }
      for (int step = 0; mass > 0; ++step) {
        pace_.spend(costs.width);
        const Least nearest = row_least(row, zero_.data(), costs.width);
        if (nearest.index < 0) throw Unsolved{query_, other_};  // no finite distance is left
        const Mass moved = step < transfers_ ? std::min(mass, room[at(nearest.index)]) : mass;
        total += static_cast<double>(moved) * static_cast<double>(nearest.value);
        mass -= moved;
        row[nearest.index] = infinite_distance;
      }
    }
    return total;
  }

  Rest excess_, all_;
  DenseCosts costs_;
  int transfers_;
  bool residual_;
  Pace pace_;
  Costs there_, back_;
  std::vector<std::int32_t> columns_;
  std::vector<float> zero_;
  std::int64_t query_ = 0, other_ = 0;
};

}  // namespace

std::unique_ptr<Pairs> act_pairs(const Bags& x, const Bags& y, const DenseCosts& costs, const TransportRule& rule,
                                 Watch& watch) {
  return std::make_unique<ActPairs>(x, y, costs, rule, watch);
}

}  // namespace wordferry
