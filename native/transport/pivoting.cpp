#include "transport/pivoting.hpp"

#include <algorithm>

#include "support/at.hpp"
#include "transport/cost_rows_inline.hpp"

namespace wordferry {

namespace {

// A search for candidates stops at m / candidate_parts of them, but not before fewest_candidates.
constexpr int fewest_candidates = 4, candidate_parts = 6;
constexpr int rows_priced_at_once = 8;

// The best of the candidates at today's potentials; those that gain no more are dropped.
inline bool choose(Pivoting& state, Candidate& entering, double& reduced) {
  Candidate* list = state.candidates;
  const double* sink_dual = state.dual + state.m;
  double best = -state.tolerance;
  int kept = 0, chosen = 0;
  for (int k = 0; k < state.listed; ++k) {
    const Candidate arc = list[k];
    const double value = arc.cost - sink_dual[arc.sink] - state.dual[arc.source];
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

// The least reduced cost of a row, less the source's dual, and where it stands.
struct Fine {
  static void begin(Pivoting&) {}
  static bool gains(const Pivoting& state, int i, double& least) {
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(i) * state.width;
    const double* shift = state.dual + state.m;
    least = state.fine == nullptr ? minimum_of_row(state.rough + first, shift, state.width)
                                  : minimum_of_row(state.fine + first, shift, state.width);
    state.minima[i] = least;
    return least < state.dual[i] - state.tolerance;
  }
  static int place(const Pivoting& state, int i, double least) {
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(i) * state.width;
    const double* shift = state.dual + state.m;
    return state.fine == nullptr ? place_in_row(state.rough + first, shift, state.width, least)
                                 : place_in_row(state.fine + first, shift, state.width, least);
  }
  using Value = double;
};

struct Rough {
  static void begin(Pivoting& state) {
    const double* dual = state.dual + state.m;
    for (int j = 0; j < state.width; ++j) state.prices[j] = static_cast<float>(dual[j] * state.scale);
  }
  static bool gains(const Pivoting& state, int i, float& least) {
    least = minimum_of_row(state.rough + static_cast<std::ptrdiff_t>(i) * state.width, state.prices, state.width);
    return least < static_cast<float>(state.dual[i] * state.scale) - state.rough_tolerance;
  }
  static int place(const Pivoting& state, int i, float least) {
    return place_in_row(state.rough + static_cast<std::ptrdiff_t>(i) * state.width, state.prices, state.width, least);
  }
  using Value = float;
};

// An arc to enter, or false when none of all gains. Candidates are the best arcs of the next rows that have one. Rows
// are looked at a few at a time, without a jump that depends on what is found.
template <class Precision>
inline bool price(Pivoting& state, Candidate& entering, double& reduced) {
  if (state.listed > 0 && choose(state, entering, reduced)) return true;
  const int block = std::max(fewest_candidates, state.m / candidate_parts);
  Precision::begin(state);
  int i = state.next_row;
  for (int left = state.m; left > 0 && state.listed < block;) {
    const int rows = std::min(left, rows_priced_at_once);
    left -= rows;
    state.pace->spend(static_cast<std::int64_t>(rows) * state.width);
    int found[rows_priced_at_once], count = 0;
    typename Precision::Value least[rows_priced_at_once];
    for (int k = 0; k < rows; ++k) {
      found[count] = i;
      count += Precision::gains(state, i, least[count]) ? 1 : 0;
      i = i + 1 == state.m ? 0 : i + 1;
    }
    for (int k = 0; k < count; ++k) {
      const int j = Precision::place(state, found[k], least[k]);
      state.candidates[state.listed++] = {state.cost(found[k], j), found[k], j};
    }
  }
  state.next_row = i;
  return state.listed > 0 && choose(state, entering, reduced);
}

// Potentials at which the entering arc costs nothing. They differ by a constant between the moved part of the tree
// and the rest, so the smaller of the two is shifted.
inline void shift(Pivoting& state, const Tree::Moved& moved, double reduced) {
  const int m = state.m, nodes = state.tree->nodes(), end = moved.begin + moved.count;
  const std::int32_t* order = state.tree->order.data();
  double* dual = state.dual;
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

template <class Precision>
inline std::int64_t pivot_on(Pivoting& state, std::int64_t limit) {
  Candidate entering{0, 0, 0};
  double reduced = 0;
  std::int64_t pivots = 0;
  while (pivots < limit && price<Precision>(state, entering, reduced)) {
    state.pace->spend(state.listed);
    shift(state, state.tree->pivot(entering.source, entering.sink), reduced);
    ++pivots;
  }
  return pivots;
}

}  // namespace

void set_potentials(const Pivoting& state) {
  const Tree& tree = *state.tree;
  const int m = state.m;
  std::fill(state.dual + m, state.dual + m + state.width, 0.0);
  for (int k = 1; k < tree.nodes(); ++k) {
    const int node = tree.order[at(k)], above = tree.parent[at(node)];
    const double cost = node < m ? state.cost(node, above - m) : state.cost(above, node - m);
    state.dual[node] = cost - state.dual[above];
  }
}

WF_FLATTEN std::int64_t pivot_roughly(Pivoting& state, std::int64_t limit) { return pivot_on<Rough>(state, limit); }

WF_FLATTEN std::int64_t pivot_until_optimal(Pivoting& state, std::int64_t limit) {
  return pivot_on<Fine>(state, limit);
}

}  // namespace wordferry
