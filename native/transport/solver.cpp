#include "transport/solver.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/at.hpp"
#include "support/pool.hpp"
#include "transport/cost_rows.hpp"

namespace wordferry {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float rough_infinity = std::numeric_limits<float>::infinity();
constexpr double rough_largest = 1e30;  // costs up to here, and down to its inverse, leave float32 room
constexpr double unit_roundoff = 0x1p-53;
constexpr double proof_tolerance = 1e-9;  // of the optimum itself

// A compensated sum (Neumaier), and the sum of the terms' sizes.
class Sum {
 public:
  void add(double term) {
    const double next = sum_ + term;
    lost_ += std::fabs(sum_) >= std::fabs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
    size_ += std::fabs(term);
  }
  double value() const { return sum_ + lost_; }
  double size() const { return size_; }

 private:
  double sum_ = 0, lost_ = 0, size_ = 0;
};

}  // namespace

void Solver::prepare(int m, int n, Precision costs) {
  m_ = m;
  n_ = n;
  width_ = padded(n);
  precision_ = costs;
  scale_ = 1;
  const auto cells = at(m) * at(width_);
  rough_.reserve(cells);
  if (costs == Precision::fine) fine_.reserve(cells);
  for (int i = 0; i < m && width_ > n; ++i) {
    if (costs == Precision::fine) std::fill(fine_row(i) + n, fine_row(i) + width_, infinity);
    std::fill(rough_row(i) + n, rough_row(i) + width_, rough_infinity);
  }
  supply_.resize(at(m));
  demand_.resize(at(n));
  dual_.resize(at(m + width_));
}

// Finds the range of the costs; false when one is NaN or infinite.
bool Solver::scan_costs() {
  const bool fine = precision_ == Precision::fine;
  const Range range = fine ? cost_range(fine_.data(), m_, n_, width_) : cost_range(rough_.data(), m_, n_, width_);
  smallest_ = range.low;
  largest_ = std::max(std::fabs(range.low), std::fabs(range.high));
  return range.finite;
}

// Rough copies of float64 costs, of a range in which float32 can add and subtract.
void Solver::round_costs() {
  const bool moderate = largest_ == 0 || (largest_ > 1 / rough_largest && largest_ < rough_largest);
  scale_ = moderate ? 1 : std::exp2(-std::clamp(std::ilogb(largest_), -1000, 1000));
  for (int i = 0; i < m_; ++i) {
    pace_.spend(width_);
    const double* from = fine_row(i);
    float* to = rough_row(i);
    for (int j = 0; j < n_; ++j) to[j] = static_cast<float>(from[j] * scale_);
  }
}

// A forest of positive flows: sources are served in rounds, in each round those first that would lose most by missing
// their best sink with room. Best means least cost minus the sink's price: the least cost of its column, adjusted by
// demand.
void Solver::start() {
  left_.assign(supply_.begin(), supply_.end());
  right_.assign(demand_.begin(), demand_.end());
  prices_.assign(at(width_), rough_infinity);
  for (int i = 0; i < m_; ++i) {
    pace_.spend(width_);
    lower_columns(prices_.data(), rough_row(i), 0, width_);
  }
  std::fill(prices_.begin() + n_, prices_.end(), 0.0f);
  soften_prices();
  open_.assign(prices_.begin(), prices_.end());
  wanted_.resize(at(m_));
  tree_.reset(m_, n_);
  while (serve_by_regret()) {
  }
  if (tree_.arcs() < m_ + n_ - 1) join_components();
  tree_.grow(m_);
}

void Solver::serve(int i, int j) {
  const Mass mass = std::min(left_[at(i)], right_[at(j)]);
  if (mass == 0) return;
  left_[at(i)] -= mass;
  right_[at(j)] -= mass;
  if (right_[at(j)] == 0) open_[at(j)] = -rough_infinity;
  tree_.add_arc(i, j, mass);
}

// One round; false when no source has mass left.
bool Solver::serve_by_regret() {
  wishes_.clear();
  for (int i = 0; i < m_; ++i) {
    if (left_[at(i)] == 0) continue;
    pace_.spend(width_);
    const TwoLeast best = row_two_least(rough_row(i), open_.data(), width_);
    wanted_[at(i)] = best.index;
    const auto regret = std::bit_cast<std::uint32_t>(best.second - best.value);  // grows with the number
    wishes_.push_back(std::uint64_t{~regret} << 32 | static_cast<std::uint64_t>(i));
  }
  std::sort(wishes_.begin(), wishes_.end());
  for (const std::uint64_t wish : wishes_) {
    const int source = static_cast<int>(wish & 0xffffffffu);
    serve(source, wanted_[at(source)]);
  }
  return !wishes_.empty();
}

// The forest of positive flows becomes one tree: every further component hangs by a source, on an arc without flow
// that goes up to the sink already in the tree that is best for it, so the tree is strongly feasible.
void Solver::join_components() {
  least_.assign(at(width_), -rough_infinity);  // the prices of sinks in the tree
  reached_.assign(at(m_ + n_), 0);
  found_.clear();
  std::size_t seen = 0;
  const auto take = [&](int node) {
    tree_.component(node, reached_, found_);
    for (; seen < found_.size(); ++seen) {
      if (found_[seen] >= m_) least_[at(found_[seen] - m_)] = prices_[at(found_[seen] - m_)];
    }
  };
  take(m_);
  for (int i = 0; i < m_; ++i) {
    if (reached_[at(i)]) continue;
    pace_.spend(width_);
    const int j = row_least(rough_row(i), least_.data(), width_).index;
    take(i);
    tree_.add_arc(i, j, 0);
  }
}

void Solver::collect_plan() {
  plan_.clear();
  for (int node = 0; node < m_ + n_; ++node) {
    const Mass mass = tree_.flow[at(node)];
    if (mass == 0) continue;
    const int above = tree_.parent[at(node)];
    plan_.push_back(node < m_ ? Flow{node, above - m_, mass} : Flow{above, node - m_, mass});
  }
}

// The sum of mass times cost, from the costs as they were given.
void Solver::sum_plan() {
  Sum sum;
  for (const Flow& flow : plan_) sum.add(static_cast<double>(flow.mass) * cost(flow.source, flow.sink));
  total_ = sum.value();
  size_ = sum.size();
}

// The dual certificate. With u_i = min_j (c_ij - v_j), which the last look at all rows has left in minima_, the duals
// are feasible, so their objective is a lower bound; what rounding may have added to it (each term is rounded at most
// four times, the sums are compensated) is bounded and subtracted. True when the gap is at most 1e-9 of the optimum.
bool Solver::proved() const {
  if (total_ == 0 && smallest_ >= 0) return true;
  const double* sink_dual = dual_.data() + m_;
  Sum bound;
  for (int i = 0; i < m_; ++i) bound.add(static_cast<double>(supply_[at(i)]) * minima_[at(i)]);
  for (int j = 0; j < n_; ++j) bound.add(static_cast<double>(demand_[at(j)]) * sink_dual[j]);
  const double error = 8 * unit_roundoff * (bound.size() + size_);
  return total_ - bound.value() + error <= proof_tolerance * std::fabs(total_);
}

// With one source or one sink there is one plan.
Proof Solver::solve_single() {
  plan_.clear();
  for (int j = 0; j < n_ && m_ == 1; ++j) plan_.push_back({0, j, demand_[at(j)]});
  for (int i = 0; i < m_ && m_ > 1; ++i) plan_.push_back({i, 0, supply_[at(i)]});
  std::fill(dual_.begin(), dual_.end(), 0.0);
  for (const Flow& flow : plan_) dual_[at(m_ == 1 ? m_ + flow.sink : flow.source)] = cost(flow.source, flow.sink);
  sum_plan();
  return Proof::exact;
}

Proof Solver::solve() {
  pivots_ = 0;
  if (!scan_costs()) return Proof::failed;
  if (m_ == 1 || n_ == 1) return solve_single();
  if (precision_ == Precision::fine) round_costs();
  start();
  if (improve()) {
    collect_plan();
    sum_plan();
    if (proved()) return Proof::bounded;
  }
  pivots_ += exact_simplex(*this, tree_, dual_, pace_);
  collect_plan();
  sum_plan();
  return Proof::exact;
}

// Each difference is rounded once, upwards by 2^-24 of itself at most; the sums are in float64.
namespace {

// A flat source has the dual `cost - rise`, and then no sink's dual may be above `rise`; each has a room of its own as
// well. Returns the best sum of mass times dual over the flat one and all sinks (or the same with the sides changed):
// `rise` goes up as long as more than the flat one's mass is worth it.
double flat_sum(std::vector<std::pair<float, Mass>>& rooms, double cost, Mass mass) {
  std::sort(rooms.begin(), rooms.end());
  Mass above = 0;
  for (const auto& room : rooms) above += room.second;
  double rise = 0, sum = 0;
  for (const auto& [room, own] : rooms) {
    if (above > mass) rise = static_cast<double>(room);
    sum += static_cast<double>(own) * std::min(static_cast<double>(room), rise);
    above -= own;
  }
  return sum + static_cast<double>(mass) * (cost - rise);
}

}  // namespace

// u_i = min_j c_ij, then v_j = min_i (c_ij - u_i). A flat source would leave no sink any room, so it comes last.
double Solver::sources_first(int flat) {
  double sum = 0;
  open_.assign(at(width_), 0);
  least_.assign(at(width_), rough_infinity);
  for (int i = 0; i < m_; ++i) {
    if (i == flat) continue;
    pace_.spend(2 * width_);
    const float dual = minimum_of_row(rough_row(i), open_.data(), width_);
    lower_columns(least_.data(), rough_row(i), dual, width_);
    sum += static_cast<double>(supply_[at(i)]) * static_cast<double>(dual);
  }
  if (flat < 0) {
    for (int j = 0; j < n_; ++j) sum += static_cast<double>(demand_[at(j)]) * static_cast<double>(least_[at(j)]);
    return sum;
  }
  const float cost = rough_row(flat)[0];
  rooms_.clear();  // with the cost first, which is a number whatever the other costs are
  for (int j = 0; j < n_; ++j) rooms_.emplace_back(std::min(cost, least_[at(j)]), demand_[at(j)]);
  return sum + flat_sum(rooms_, static_cast<double>(cost), supply_[at(flat)]);
}

// And the other way round.
double Solver::sinks_first(int flat) {
  double sum = 0;
  least_.assign(at(width_), rough_infinity);
  for (int i = 0; i < m_; ++i) {
    pace_.spend(2 * width_);
    lower_columns(least_.data(), rough_row(i), 0, width_);
  }
  std::fill(least_.begin() + n_, least_.end(), 0.0f);
  const float cost = flat < 0 ? 0.0f : least_[at(flat)];
  if (flat >= 0) least_[at(flat)] = -rough_infinity;
  for (int j = 0; j < n_; ++j) {
    if (j != flat) sum += static_cast<double>(demand_[at(j)]) * static_cast<double>(least_[at(j)]);
  }
  rooms_.clear();
  for (int i = 0; i < m_; ++i) {
    const float dual = minimum_of_row(rough_row(i), least_.data(), width_);
    if (flat < 0) {
      sum += static_cast<double>(supply_[at(i)]) * static_cast<double>(dual);
    } else {
      rooms_.emplace_back(std::min(cost, dual), supply_[at(i)]);
    }
  }
  return flat < 0 ? sum : sum + flat_sum(rooms_, static_cast<double>(cost), demand_[at(flat)]);
}

double Solver::dual_bound(Flat flat) {
  return std::max(sources_first(flat.source), sinks_first(flat.sink)) * (1 - 0x1p-22);
}

}  // namespace wordferry
