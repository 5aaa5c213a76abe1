#include "pivoting.hpp"

#include <algorithm>

#include "cpu.hpp"
#include "cost_rows_inline.hpp"

namespace wordferry {

namespace {

// A search for candidates stops at m / kParts of them, but not before kFew.
constexpr int kFew = 4, kParts = 6;

inline std::size_t at(int index) { return static_cast<std::size_t>(index); }

inline const double* row(const Pivoting& state, int i) {
  return state.costs + static_cast<std::ptrdiff_t>(i) * state.width;
}

// The best of the candidates at today's potentials; those that gain no more are dropped.
inline bool choose(Pivoting& state, Candidate& entering, double& reduced) {
  Candidate* list = state.candidates;
  const double* sink_dual = state.dual + state.m;
  double best = -state.tolerance;
  int kept = 0, chosen = 0;
  for (int k = 0; k < state.listed; ++k) {
    const Candidate arc = list[k];
    const double value = row(state, arc.source)[arc.sink] - sink_dual[arc.sink] - state.dual[arc.source];
    list[kept] = arc;
    chosen = value < best ? kept : chosen;
    best = value < best ? value : best;
    kept += value < -state.tolerance ? 1 : 0;
  }
  state.listed = kept;
  if (kept == 0) return false;
  entering = list[chosen];
  reduced = best;
  list[chosen] = list[--state.listed];
  return true;
}

// An arc to enter, or false when none of all gains. Candidates are the best arcs of the next rows that have one.
inline bool price(Pivoting& state, Candidate& entering, double& reduced) {
  if (state.listed > 0 && choose(state, entering, reduced)) return true;
  const int block = std::max(kFew, state.m / kParts);
  for (int step = 0; step < state.m && state.listed < block; ++step) {
    const int i = state.next_row;
    state.next_row = i + 1 == state.m ? 0 : i + 1;
    const double gains = state.dual[i] - state.tolerance;
    const Least least = least_of_row(row(state, i), state.dual + state.m, state.width, gains);
    if (least.value < gains) state.candidates[state.listed++] = {i, least.index};
  }
  return state.listed > 0 && choose(state, entering, reduced);
}

// The moved part of the tree gets potentials at which the entering arc costs nothing.
inline void shift(Pivoting& state, const Tree::Moved& moved, double reduced) {
  const double of_sources = moved.with_source ? reduced : -reduced;
  const std::int32_t* order = state.tree->order.data() + moved.begin;
  const int m = state.m;
  double* dual = state.dual;
  for (int k = 0; k < moved.count; ++k) {
    const int node = order[k];
    dual[node] += node < m ? of_sources : -of_sources;
  }
}

}  // namespace

void set_potentials(const Pivoting& state) {
  const Tree& tree = *state.tree;
  const int m = state.m;
  std::fill(state.dual + m, state.dual + m + state.width, 0.0);
  for (int k = 1; k < tree.nodes(); ++k) {
    const int node = tree.order[at(k)], above = tree.parent[at(node)];
    const double cost = node < m ? row(state, node)[above - m] : row(state, above)[node - m];
    state.dual[node] = cost - state.dual[above];
  }
}

WF_CLONES WF_FLATTEN std::int64_t pivot_until_optimal(Pivoting& state, std::int64_t limit) {
  Candidate entering{0, 0};
  double reduced = 0;
  std::int64_t pivots = 0;
  while (pivots < limit && price(state, entering, reduced)) {
    shift(state, state.tree->pivot(entering.source, entering.sink), reduced);
    ++pivots;
  }
  return pivots;
}

}  // namespace wordferry
