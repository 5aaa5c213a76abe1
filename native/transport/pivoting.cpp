// The inner loop of the network simplex: price, pivot, shift potentials, until nothing gains.
//
// Pricing runs in float32 first, on rough costs, which is twice as fast; every arc that enters is checked in float64.
// When float32 sees nothing that gains, float64 looks again.
#include <algorithm>

#include "support/at.hpp"
#include "support/compiler.hpp"
#include "transport/cost_rows.hpp"
#include "transport/solver.hpp"

namespace wordferry {

namespace {

// A search for candidates stops at m / candidate_parts of them, but not before fewest_candidates.
constexpr int fewest_candidates = 4, candidate_parts = 6;
constexpr int rows_priced_at_once = 8;

}  // namespace

// The best of the candidates at today's potentials; those that gain no more are dropped.
inline bool Solver::choose(Entering& entering) {
  Candidate* list = candidates_.data();
  const double *source_dual = dual_.data(), *sink_dual = source_dual + m_;
  double best = -tolerance_;
  int kept = 0, chosen = 0;
  for (int k = 0; k < listed_; ++k) {
    const Candidate arc = list[k];
    const double value = arc.cost - sink_dual[arc.sink] - source_dual[arc.source];
    list[kept] = arc;
    chosen = value < best ? kept : chosen;
    best = value < best ? value : best;
    kept += value < -tolerance_ ? 1 : 0;
  }
  listed_ = kept;
  if (kept == 0) return false;
  entering = {list[chosen].source, list[chosen].sink, best};
  list[chosen] = list[--listed_];
  return true;
}

// The least reduced cost of a row, less the source's dual, and where it stands.
struct Solver::FinePricing {
  using Value = double;
  Solver& solver;
  const double* shift = solver.dual_.data() + solver.m_;

  bool gains(int i, double& least) const {
    least = solver.precision_ == Precision::fine ? minimum_of_row(solver.fine_row(i), shift, solver.width_)
                                                 : minimum_of_row(solver.rough_row(i), shift, solver.width_);
    solver.minima_[at(i)] = least;
    return least < solver.dual_[at(i)] - solver.tolerance_;
  }
  int place(int i, double least) const {
    return solver.precision_ == Precision::fine ? place_in_row(solver.fine_row(i), shift, solver.width_, least)
                                                : place_in_row(solver.rough_row(i), shift, solver.width_, least);
  }
};

struct Solver::RoughPricing {
  using Value = float;
  Solver& solver;
  const float* prices = solver.prices_.data();

  explicit RoughPricing(Solver& one) : solver(one) {
    const double* dual = one.dual_.data() + one.m_;
    for (int j = 0; j < one.width_; ++j) one.prices_[at(j)] = static_cast<float>(dual[j] * one.scale_);
  }
  bool gains(int i, float& least) const {
    least = minimum_of_row(solver.rough_row(i), prices, solver.width_);
    return least < static_cast<float>(solver.dual_[at(i)] * solver.scale_) - solver.rough_tolerance_;
  }
  int place(int i, float least) const { return place_in_row(solver.rough_row(i), prices, solver.width_, least); }
};

// An arc to enter, or false when none of all gains. Candidates are the best arcs of the next rows that have one. Rows
// are looked at a few at a time, without a jump that depends on what is found.
template <class Pricing>
inline bool Solver::price(Entering& entering) {
  if (listed_ > 0 && choose(entering)) return true;
  const int block = std::max(fewest_candidates, m_ / candidate_parts);
  const Pricing pricing{*this};
  int i = next_row_;
  for (int left = m_; left > 0 && listed_ < block;) {
    const int rows = std::min(left, rows_priced_at_once);
    left -= rows;
    pace_.spend(static_cast<std::int64_t>(rows) * width_);
    int found[rows_priced_at_once], count = 0;
    typename Pricing::Value least[rows_priced_at_once];
    for (int k = 0; k < rows; ++k) {
      found[count] = i;
      count += pricing.gains(i, least[count]) ? 1 : 0;
      i = i + 1 == m_ ? 0 : i + 1;
    }
    for (int k = 0; k < count; ++k) {
      const int j = pricing.place(found[k], least[k]);
      candidates_[at(listed_++)] = {cost(found[k], j), found[k], j};
    }
  }
  next_row_ = i;
  return listed_ > 0 && choose(entering);
}

// Potentials at which the entering arc costs nothing. They differ by a constant between the moved part of the tree
// and the rest, so the smaller of the two is shifted.
inline void Solver::shift_potentials(const Tree::Moved& moved, double reduced) {
  const int m = m_, nodes = tree_.nodes(), end = moved.begin + moved.count;
  const std::int32_t* order = tree_.order.data();
  double* dual = dual_.data();
  double of_sources = moved.with_source ? reduced : -reduced;
  const auto add = [&](int from, int to) {
    for (int k = from; k < to; ++k) {
      const int node = order[k];
      dual[node] += node < m ? of_sources : -of_sources;
    }
  };
  if (2 * moved.count <= nodes) {
    add(moved.begin, end);
  } else {
    of_sources = -of_sources;
    add(0, moved.begin);
    add(end, nodes);
  }
}

// Pivots until no arc gains or `limit` pivots are done; returns how many were. In rough pricing small gains are missed.
template <class Pricing>
inline std::int64_t Solver::pivot(std::int64_t limit) {
  Entering entering{};
  std::int64_t pivots = 0;
  while (pivots < limit && price<Pricing>(entering)) {
    pace_.spend(listed_);
    shift_potentials(tree_.pivot(entering.source, entering.sink), entering.reduced);
    ++pivots;
  }
  return pivots;
}

// Potentials of the tree from its root down, without what rounding has added up: c = u + v on every arc.
void Solver::set_potentials() {
  std::fill(dual_.begin() + m_, dual_.end(), 0.0);
  for (int k = 1; k < tree_.nodes(); ++k) {
    const int node = tree_.order[at(k)], above = tree_.parent[at(node)];
    dual_[at(node)] = (node < m_ ? cost(node, above - m_) : cost(above, node - m_)) - dual_[at(above)];
  }
}

// Pivots until no arc gains. False when rounding keeps it from ending: exact arithmetic then goes on from here.
WF_FLATTEN bool Solver::improve() {
  constexpr std::int64_t pivots_at_once = 4096, pivots_a_node = 200, few_pivots = 32;
  candidates_.resize(at(m_));
  minima_.resize(at(m_));
  listed_ = next_row_ = 0;
  tolerance_ = 0x1p-46 * largest_;  // smaller gains are rounding, not gains; the same in float32
  rough_tolerance_ = static_cast<float>(0x1p-20 * largest_ * scale_);
  const std::int64_t limit = pivots_a_node * (m_ + n_) + 1000;
  for (bool rough = true; true;) {
    set_potentials();
    const std::int64_t done = rough ? pivot<RoughPricing>(pivots_at_once) : pivot<FinePricing>(pivots_at_once);
    if ((pivots_ += done) > limit) return false;
    if (!rough && done < few_pivots) return true;  // too few for rounding to have piled up in the potentials
    rough = rough && done == pivots_at_once;
  }
}

}  // namespace wordferry
