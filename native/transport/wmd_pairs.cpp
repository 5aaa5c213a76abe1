#include "transport/document_pairs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "support/at.hpp"
#include "transport/cost_rows.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t many_others = 64;       // from here on a table of the query's costs pays
constexpr std::int64_t table_cells = 8 << 20;  // but not a larger one than this
constexpr std::int64_t columns_a_block = 256;

Mass total_of(const Bags& bags, std::int64_t row) {
  return std::accumulate(bags.data + bags.indptr[row], bags.data + bags.indptr[row + 1], Mass{0});
}

class WmdPairs : public Pairs {
 public:
  WmdPairs(const Bags& x, const Bags& y, const DenseCosts& costs, const TransportRule& rule, Watch& watch)
      : x_(x), costs_(costs), rest_(x, y, rule.keep, &costs_), pace_(watch), solver_(watch) {
    if (rule.soft.rounds > 0) soft_.emplace(rule.soft, watch);
  }

  void begin(std::int64_t query, std::int64_t expected) override {
    if (query == query_) return;
    query_ = query;
    ready_ = -1;
    const std::int64_t first = x_.indptr[query], count = x_.indptr[query + 1] - first;
    stride_ = static_cast<int>(count);
    table_.clear();
    if (expected < many_others || count * costs_.columns > table_cells) return;
    table_.resize(at(count * costs_.columns));
    for (std::int64_t low = 0; low < costs_.columns; low += columns_a_block) {
      const std::int64_t high = std::min(costs_.columns, low + columns_a_block);
      for (std::int64_t i = 0; i < count; ++i) {
        const float* from = costs_.row(x_.indices[first + i]);
        for (std::int64_t column = low; column < high; ++column) {
          table_[at(column * count + i)] = from[column];
        }
      }
    }
  }

  double bound(std::int64_t other) override {
    double value = 0;
    if (!gather(other, value)) return value;
    ready_ = other;
    if (soft_) return solved(other);
    return solver_.dual_bound(flat_) / rest_.left().total;
  }

  double solve(std::int64_t other) override {
    double value = 0;
    if (ready_ != other && !gather(other, value)) return value;
    ready_ = -1;
    return soft_ ? scaled(other) : solved(other);
  }

 private:
  double solved(std::int64_t other) {
    if (solver_.solve() == Proof::failed) throw Unsolved{query_, other};
    return solver_.total() / rest_.left().total;
  }

  // What the soft plan costs.
  double scaled(std::int64_t other) {
    const int m = solver_.sources(), n = solver_.sinks(), width = padded(n);
    double all = 0;
    for (int i = 0; i < m; ++i) all += static_cast<double>(solver_.supply()[i]);
    supply_.resize(at(m));
    demand_.resize(at(n));
    for (int i = 0; i < m; ++i) supply_[at(i)] = static_cast<double>(solver_.supply()[i]) / all;
    for (int j = 0; j < n; ++j) demand_[at(j)] = static_cast<double>(solver_.demand()[j]) / all;
    if (!cost_range(solver_.rough_row(0), m, n, width).finite) throw Unsolved{query_, other};
    return soft_->solve({m, n, width, solver_.rough_row(0), supply_.data(), demand_.data()}) *
           (all / rest_.left().total);
  }

  // The words of a shared row or column as one; returns where it is, or -1.
  static int merge(const Left::Side& from, const std::int32_t* place_of, std::int32_t shared, Left::Side& to) {
    int slot = -1;
    to.clear();
    for (std::size_t i = 0; i < from.words.size(); ++i) {
      const bool is_shared = place_of[from.words[i]] == shared;
      if (is_shared && slot >= 0) {
        to.mass[at(slot)] += from.mass[i];
        continue;
      }
      if (is_shared) slot = to.size();
      to.add(from.words[i], from.mass[i]);
    }
    return slot;
  }

  const Left& merged() {
    const Left& left = rest_.left();
    if (costs_.shared_row < 0 && costs_.shared_column < 0) return left;
    const int x_slot = merge(left.x, costs_.row_of, costs_.shared_row, merged_.x);
    merged_.places.clear();
    for (std::size_t i = 0, next = 0; i < left.x.words.size() && next < merged_.x.words.size(); ++i) {
      if (left.x.words[i] != merged_.x.words[next]) continue;
      merged_.places.push_back(left.places[i]);
      ++next;
    }
    const int y_slot = merge(left.y, costs_.column_of, costs_.shared_column, merged_.y);
    merged_.set_swap();
    flat_ = merged_.swap ? Solver::Flat{y_slot, x_slot} : Solver::Flat{x_slot, y_slot};
    return merged_;
  }

  bool gather(std::int64_t other, double& value) {
    if (!rest_.find(query_, other, value)) return false;
    const Left& left = merged();
    const int xs = left.x.size(), ys = left.y.size();
    solver_.prepare(left.sources().size(), left.sinks().size(), Precision::rough);
    std::copy(left.sources().mass.begin(), left.sources().mass.end(), solver_.supply());
    std::copy(left.sinks().mass.begin(), left.sinks().mass.end(), solver_.demand());
    columns_.resize(at(ys));
    for (int j = 0; j < ys; ++j) columns_[at(j)] = costs_.column_of[left.y.words[at(j)]];
    if (table_.empty()) {
      gather_rows(left, xs, ys);
    } else {
      gather_table(left, xs, ys);
    }
    return true;
  }

  // From the rows of distances of the query's words: few reads, but each from another place.
  void gather_rows(const Left& left, int xs, int ys) {
    const std::int32_t* targets = columns_.data();
    for (int i = 0; i < xs; ++i) {
      pace_.spend(ys);
      const float* from = costs_.row(left.x.words[at(i)]);
      if (left.swap) {
        for (int j = 0; j < ys; ++j) solver_.rough_row(j)[i] = from[targets[j]];
      } else {
        float* to = solver_.rough_row(i);
        for (int j = 0; j < ys; ++j) to[j] = from[targets[j]];
      }
    }
  }

  // From the table in which the distances of one word to all of the query's lie together; sixteen words at a time, so
  // that a row of costs is written a cache line at a time.
  void gather_table(const Left& left, int xs, int ys) {
    const std::int32_t* places = left.places.data();
    const auto column = [&](int j) { return table_.data() + static_cast<std::ptrdiff_t>(columns_[at(j)]) * stride_; };
    int j = 0;
    for (; !left.swap && j + lane_count <= ys; j += lane_count) {
      pace_.spend(std::int64_t{xs} * lane_count);
      const float* from[lane_count];
      for (int k = 0; k < lane_count; ++k) from[k] = column(j + k);
      for (int i = 0; i < xs; ++i) {
        float* to = solver_.rough_row(i) + j;
        for (int k = 0; k < lane_count; ++k) to[k] = from[k][places[i]];
      }
    }
    for (; j < ys; ++j) {
      pace_.spend(xs);
      const float* from = column(j);
      if (left.swap) {
        float* to = solver_.rough_row(j);
        for (int i = 0; i < xs; ++i) to[i] = from[places[i]];
      } else {
        for (int i = 0; i < xs; ++i) solver_.rough_row(i)[j] = from[places[i]];
      }
    }
  }

  Bags x_;
  DenseCosts costs_;
  Rest rest_;
  Left merged_;
  Pace pace_;
  Solver solver_;
  std::optional<Sinkhorn> soft_;
  std::vector<double> supply_, demand_;  // of the soft plan
  Solver::Flat flat_;                    // of the problem at hand
  std::vector<float> table_;
  std::vector<std::int32_t> columns_;  // of the words left of y
  int stride_ = 0;
  std::int64_t query_ = -1, ready_ = -1;
};

}  // namespace

bool Rest::find(std::int64_t query, std::int64_t other, double& value) {
  const std::int64_t xb = x_.indptr[query], xe = x_.indptr[query + 1], yb = y_.indptr[other], ye = y_.indptr[other + 1];
  value = xb == xe && yb == ye ? 0 : std::numeric_limits<double>::infinity();
  if (xb == xe || yb == ye) return false;
  const Mass x_total = total_of(x_, query), y_total = total_of(y_, other), common = std::gcd(x_total, y_total);
  const Mass x_scale = y_total / common, y_scale = x_total / common;
  Left& left = left_;
  left.total = static_cast<double>(x_total) * static_cast<double>(x_scale);
  left.x.clear();
  left.y.clear();
  left.places.clear();
  std::int64_t i = xb, j = yb;
  const auto keep_x = [&](Mass mass) {
    left.x.add(x_.indices[i], mass);
    left.places.push_back(static_cast<std::int32_t>(i - xb));
  };
  const auto keep_y = [&](Mass mass) { left.y.add(y_.indices[j], mass); };
  while (i < xe || j < ye) {
    if (j == ye || (i < xe && x_.indices[i] < y_.indices[j])) {
      keep_x(x_.data[i] * x_scale);
      ++i;
    } else if (i == xe || y_.indices[j] < x_.indices[i]) {
      keep_y(y_.data[j] * y_scale);
      ++j;
    } else {
      const Mass a = x_.data[i] * x_scale, b = y_.data[j] * y_scale, shared = moves(x_.indices[i]) ? 0 : std::min(a, b);
      if (a > shared) keep_x(a - shared);
      if (b > shared) keep_y(b - shared);
      ++i;
      ++j;
    }
  }
  value = 0;
  left.set_swap();
  return left.x.size() > 0;
}

std::unique_ptr<Pairs> wmd_pairs(const Bags& x, const Bags& y, const DenseCosts& costs, const TransportRule& rule,
                                 Watch& watch) {
  return std::make_unique<WmdPairs>(x, y, costs, rule, watch);
}

}  // namespace wordferry
