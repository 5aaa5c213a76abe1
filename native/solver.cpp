#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact_simplex.hpp"
#include "cost_rows.hpp"
#include "pivoting.hpp"
#include "pool.hpp"

namespace wordferry {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double unit_roundoff = 0x1p-53;
constexpr double proof_tolerance = 1e-9;  // of the optimum itself
constexpr double enter_tolerance = 0x1p-46;  // of the largest cost: smaller gains are rounding, not gains
constexpr std::int64_t pivots_between_polls = 4096;
constexpr std::int64_t pivots_a_node = 200;
constexpr std::int64_t few_pivots = 32;
constexpr int large_side = 16;  // from here on a careful start pays

std::size_t at(int index) { return static_cast<std::size_t>(index); }

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

void Solver::prepare(int m, int n) {
  m_ = m;
  n_ = n;
  width_ = padded(n);
  const auto cells = at(m) * at(width_);
  if (costs_.size() < cells) costs_.resize(cells);
  if (width_ > n) {
    for (int i = 0; i < m; ++i) std::fill(cost_row(i) + n, cost_row(i) + width_, infinity);
  }
  supply_.resize(at(m));
  demand_.resize(at(n));
  dual_.resize(at(m + width_));
}

// Finds the range of the costs; false when one is NaN or infinite.
bool Solver::scan_costs() {
  const Range range = cost_range(costs_.data(), m_, n_, width_);
  smallest_ = range.low;
  largest_ = std::max(std::fabs(range.low), std::fabs(range.high));
  return range.finite;
}

// A forest of positive flows: sources are served in rounds, in each round those first that would lose most by missing
// their best sink with room. Best means least cost minus the sink's price: the least cost of its column, which in
// larger problems is adjusted by demand first.
void Solver::start() {
  left_.assign(supply_.begin(), supply_.end());
  right_.assign(demand_.begin(), demand_.end());
  open_.assign(at(width_), infinity);  // prices; -infinity for sinks without room
  for (int i = 0; i < m_; ++i) lower_columns(open_.data(), row(i), 0.0, n_);
  std::fill(open_.begin() + n_, open_.end(), 0.0);
  tree_.reset(m_, n_);
  const bool large = m_ >= large_side && n_ >= large_side;
  if (large) soft_prices_.adjust({m_, n_, width_, costs_.data(), supply_.data(), demand_.data()}, open_.data());
  if (large) {
    while (serve_by_regret()) {
    }
  } else {
    serve_in_turn();
  }
  if (tree_.arcs() < m_ + n_ - 1) join_components();
  tree_.grow(m_);
}

// The sink with room that is best for source i. Where prices have left the range of float64, the first one will do.
Least Solver::best_open(int i) const {
  const Least best = row_least(row(i), open_.data(), width_);
  if (best.index >= 0) return best;
  for (int j = 0; j < n_; ++j) {
    if (right_[at(j)] > 0) return {0, j};
  }
  return best;
}

void Solver::serve(int i, int j) {
  const Mass mass = std::min(left_[at(i)], right_[at(j)]);
  if (mass == 0) return;
  left_[at(i)] -= mass;
  right_[at(j)] -= mass;
  if (right_[at(j)] == 0) open_[at(j)] = -infinity;
  tree_.add_arc(i, j, mass);
}

// Every source first gets what it can of its best sink, then each in turn fills the best sinks with room.
void Solver::serve_in_turn() {
  least_.assign(open_.begin(), open_.end());
  for (int i = 0; i < m_; ++i) {
    const int wanted = row_least(row(i), least_.data(), width_).index;
    if (wanted >= 0) serve(i, wanted);
  }
  for (int i = 0; i < m_; ++i) {
    while (left_[at(i)] > 0) serve(i, best_open(i).index);
  }
}

// One round; false when no source has mass left.
bool Solver::serve_by_regret() {
  wishes_.clear();
  for (int i = 0; i < m_; ++i) {
    if (left_[at(i)] == 0) continue;
    const Least best = best_open(i);
    const double price = open_[at(best.index)];
    open_[at(best.index)] = -infinity;
    const double regret = row_minimum(row(i), open_.data(), width_) - best.value;
    open_[at(best.index)] = price;
    wishes_.push_back({regret == regret ? regret : 0, i, best.index});
  }
  std::sort(wishes_.begin(), wishes_.end(), [](const Wish& a, const Wish& b) {
    return a.regret != b.regret ? a.regret > b.regret : a.source < b.source;
  });
  for (const Wish& wish : wishes_) serve(wish.source, wish.sink);
  return !wishes_.empty();
}

// The forest of positive flows becomes one tree: every further component hangs by a source, on an arc without flow
// that goes up to the cheapest sink already in the tree, so the tree is strongly feasible.
void Solver::join_components() {
  least_.assign(at(width_), -infinity);  // 0 for sinks in the tree
  reached_.assign(at(m_ + n_), 0);
  found_.clear();
  std::size_t seen = 0;
  const auto take = [&](int node) {
    tree_.component(node, reached_, found_);
    for (; seen < found_.size(); ++seen) {
      if (found_[seen] >= m_) least_[at(found_[seen] - m_)] = 0.0;
    }
  };
  take(m_);
  for (int i = 0; i < m_; ++i) {
    if (reached_[at(i)]) continue;
    const int j = row_least(row(i), least_.data(), width_).index;
    take(i);
    tree_.add_arc(i, j, 0);
  }
}

// Pivots until no arc gains. False when rounding keeps it from ending: exact arithmetic then goes on from here.
bool Solver::improve(const Stopped& stopped) {
  candidates_.resize(at(m_));
  Pivoting state{m_, n_, width_, costs_.data(), dual_.data(), enter_tolerance * largest_, 0, &tree_, candidates_.data(), 0};
  const std::int64_t limit = pivots_a_node * (m_ + n_) + 1000;
  while (true) {
    set_potentials(state);
    const std::int64_t done = pivot_until_optimal(state, pivots_between_polls);
    if ((pivots_ += done) > limit) return false;
    if (done < few_pivots) return true;  // too few for rounding to have piled up in the potentials
    if (stopped()) throw Interrupted();
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

// The dual certificate. With u_i = min_j (c_ij - v_j) the duals are feasible, so their objective is a lower bound;
// what rounding may have added to it (each term is rounded at most four times, the sums are compensated) is bounded
// and subtracted. True when the gap is at most 1e-9 of the optimum.
bool Solver::proved() const {
  if (total_ == 0 && smallest_ >= 0) return true;
  const double* sink_dual = dual_.data() + m_;
  Sum bound;
  for (int i = 0; i < m_; ++i) {
    bound.add(static_cast<double>(supply_[at(i)]) * row_minimum(row(i), sink_dual, width_));
  }
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

Proof Solver::solve(const Stopped& stopped) {
  pivots_ = 0;
  if (!scan_costs()) return Proof::failed;
  if (m_ == 1 || n_ == 1) return solve_single();
  start();
  if (improve(stopped)) {
    collect_plan();
    sum_plan();
    if (proved()) return Proof::bounded;
  }
  pivots_ += exact_simplex(*this, tree_, dual_, stopped);
  collect_plan();
  sum_plan();
  return Proof::exact;
}

double Solver::dual_bound() {
  std::fill(dual_.begin(), dual_.end(), 0.0);
  least_.assign(at(width_), infinity);
  double sources_first = 0, sinks_first = 0;
  for (int i = 0; i < m_; ++i) {  // u_i = min_j c_ij, then v_j = min_i (c_ij - u_i)
    const double dual = row_minimum(row(i), dual_.data() + m_, width_);
    lower_columns(least_.data(), row(i), dual, n_);
    sources_first += static_cast<double>(supply_[at(i)]) * dual;
  }
  for (int j = 0; j < n_; ++j) sources_first += static_cast<double>(demand_[at(j)]) * least_[at(j)];
  std::fill(least_.begin(), least_.begin() + n_, infinity);
  for (int i = 0; i < m_; ++i) lower_columns(least_.data(), row(i), 0.0, n_);  // and the other way round
  std::fill(least_.begin() + n_, least_.end(), 0.0);
  for (int j = 0; j < n_; ++j) sinks_first += static_cast<double>(demand_[at(j)]) * least_[at(j)];
  for (int i = 0; i < m_; ++i) {
    sinks_first += static_cast<double>(supply_[at(i)]) * row_minimum(row(i), least_.data(), width_);
  }
  return std::max(sources_first, sinks_first);
}

}  // namespace wordferry
