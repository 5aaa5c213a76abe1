#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "support/at.hpp"
#include "support/bind.hpp"
#include "support/view.hpp"
#include "transport/search.hpp"
#include "transport/solver.hpp"

namespace wordferry {

namespace {

using Words = In<std::int32_t>;
using Longs = In<std::int64_t>;
using Where = std::pair<std::int64_t, std::int64_t>;

// What a pair of documents is compared by, given distances of words.
enum class TransportKind { wmd, act_omr, act_residual };

// The kind, and its parameters: the transfers of act; whether common mass moves, and what Sinkhorn's rounds need (no
// rounds solve the problem), of wmd.
struct TransportRule {
  TransportKind kind = TransportKind::wmd;
  int transfers = 0;
  bool keep = false;
  SinkhornSettings soft;
};

// Whole masses multiply to equal sums: each row's by the other's total over their common divisor.
void require_multiplies(std::int64_t largest_x, std::int64_t smallest_x, std::int64_t largest_y,
                        std::int64_t smallest_y) {
  if (largest_x == 0 || largest_y == 0) return;
  const bool equal = largest_x == smallest_x && largest_y == smallest_y && largest_x == largest_y;
  require(equal || largest_x < largest_mass / largest_y, "the weights of two documents multiply to more than 2^61");
}

// Two sets of documents and one kind of costs between their words, which nothing changes: several threads may use one.
// The binding keeps alive what it points into.
class TransportDocuments {
 public:
  TransportDocuments(const WholeView& x, const WholeView& y, In<float, 2> costs, Words row_of, Words column_of,
                     const TransportRule& rule, bool shared)
      : TransportDocuments(x, y) {
    costs_ = std::move(costs);
    row_of_ = std::move(row_of);
    column_of_ = std::move(column_of);
    const std::int64_t rows = costs_.length(), columns = costs_.length(1);
    require(!shared || (rows > 0 && columns > 0), "shared costs need a row and a column");
    require_places(x, row_of_, rows, "a word of x has no row of costs");
    require_places(y, column_of_, columns, "a word of y has no column of costs");
    DenseCosts dense{costs_.data(), row_of_.data(), column_of_.data(), columns};
    if (shared) {
      dense.shared_row = static_cast<std::int32_t>(rows - 1);
      dense.shared_column = static_cast<std::int32_t>(columns - 1);
    }
    make_ = [=, x = x.get(), y = y.get()](Watch& watch) {
      if (rule.kind == TransportKind::wmd) {
        return wmd_pairs(x, y, dense, rule.keep, rule.soft.rounds > 0 ? &rule.soft : nullptr, watch);
      }
      return act_pairs(x, y, dense, rule.transfers, rule.kind == TransportKind::act_residual, watch);
    };
  }

  TransportDocuments(const WholeView& x, const WholeView& y, const FloatView& graph, double c_max, bool keep)
      : TransportDocuments(x, y) {
    require(graph.rows() == graph.columns(), "the graph must be square");
    require(x.largest() < graph.rows() && y.largest() < graph.rows(), "a word that the graph does not know");
    make_ = [keep, x = x.get(), y = y.get(), hub = HubCosts{graph.get(), graph.rows(), c_max}](Watch& watch) {
      return hub_pairs(x, y, hub, keep, watch);
    };
  }

  const MakePairs& maker() const { return make_; }
  std::int64_t x_rows() const { return x_rows_; }
  std::int64_t y_rows() const { return y_rows_; }

 private:
  TransportDocuments(const WholeView& x, const WholeView& y) : x_rows_(x.rows()), y_rows_(y.rows()) {
    require_multiplies(x.largest_sum(), x.smallest_sum(), y.largest_sum(), y.smallest_sum());
  }

  static void require_places(const WholeView& view, const Words& place_of, std::int64_t places, const char* message) {
    require(place_of.length() > view.largest(), "a place for each word");
    bool fits = true;
    for (const std::int32_t word : view.words()) {
      const std::int32_t place = place_of.data()[word];
      fits &= place >= 0 && place < places;
    }
    require(fits, message);
  }

  std::int64_t x_rows_, y_rows_;
  In<float, 2> costs_;
  Words row_of_, column_of_;
  MakePairs make_;
};

// Runs `work` and returns the pair without an optimum, or (-1, -1).
template <class Work>
Where report(Work&& work) {
  Unsolved where{-1, -1};
  run_native([&](Watch& watch) {
    try {
      work(watch);
    } catch (const Unsolved& unsolved) {
      where = unsolved;
    }
  });
  return {where.x, where.y};
}

Where all_values(const TransportDocuments& documents, bool symmetric, std::int64_t offset, const Out<float, 2>& out,
                 int threads) {
  require(out.length() == documents.x_rows() && out.length(1) == documents.y_rows(),
          "out has another shape than the documents");
  require(offset >= 0 && offset <= std::numeric_limits<std::int32_t>::max(), "offset must not be negative");
  return report([&](Watch& watch) {
    all_pairs(documents.maker(), documents.x_rows(), documents.y_rows(), symmetric, offset, out.data(),
              thread_limit(threads), watch);
  });
}

// Rows, values, what is proved, counts of each query, and the pair without an optimum or (-1, -1).
std::tuple<Made<std::int64_t, 2>, Made<float, 2>, Made<bool, 2>, Made<std::int64_t, 2>, Where> nearest_values(
    const TransportDocuments& documents, const In<float, 2>& bounds, const In<bool>& allowed, double slack,
    std::int64_t k, std::int64_t budget, int threads) {
  const std::int64_t queries = documents.x_rows(), others = documents.y_rows();
  require(bounds.length() == queries && bounds.length(1) == others, "bounds has another shape than the documents");
  require(allowed.length() == others, "allowed needs a value for each document of y");
  require(k >= 1 && k <= std::max<std::int64_t>(others, 1),
          "k must be at least 1, and no more than the documents of y");
  auto found = make_array(std::int64_t{-1}, queries, k);
  auto values = make_array(0.0f, queries, k);
  auto proved = make_array(false, queries, k);
  auto counts = make_array(std::int64_t{0}, queries, 4);
  const Bounded bounded{bounds.data(), allowed.data(), slack, others, k, budget};
  const Where where = report([&](Watch& watch) {
    search(documents.maker(), queries, bounded, {found.data(), values.data(), proved.data(), counts.data()},
           thread_limit(threads), watch);
  });
  return {std::move(found), std::move(values), std::move(proved), std::move(counts), where};
}

// One problem: positive masses of equal sums.
void require_masses(const std::int64_t* supply, std::int64_t m, const std::int64_t* demand, std::int64_t n) {
  const auto sum_of = [](const std::int64_t* masses, std::int64_t count) {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      require(masses[k] >= 1 && masses[k] <= largest_mass - sum, "masses must be positive and fit in 2^61");
      sum += masses[k];
    }
    return sum;
  };
  require(sum_of(supply, m) == sum_of(demand, n), "masses must have equal sums");
}

void require_size(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t most = std::int64_t{1} << 28;
  require(m >= 1 && n >= 1 && m < most && n < most, "a problem needs a source and a sink, and fewer than 2^28 of each");
}

// Solves the problem of these masses and costs, m x n of them.
Proof solve(Solver& solver, const std::int64_t* supply, int m, const std::int64_t* demand, int n, const double* costs,
            Watch& watch) {
  solver.prepare(m, n, Precision::fine);
  std::copy_n(supply, m, solver.supply());
  std::copy_n(demand, n, solver.demand());
  Pace pace(watch);
  for (int i = 0; i < m; ++i) {
    pace.spend(n);
    std::copy_n(costs + static_cast<std::ptrdiff_t>(i) * n, n, solver.fine_row(i));
  }
  return solver.solve();
}

// A solved problem: the proof, its cost, pivots, the arcs of the plan by source, sink and mass, and the duals.
using Solved = std::tuple<Proof, double, std::int64_t, Made<std::int32_t>, Made<std::int32_t>, Made<std::int64_t>,
                          Made<double>, Made<double>>;

Solved solve_one(const Longs& supply, const Longs& demand, const In<double, 2>& costs) {
  require_size(supply.length(), demand.length());
  const auto m = static_cast<int>(supply.length()), n = static_cast<int>(demand.length());
  require(costs.length() == m && costs.length(1) == n, "costs needs a row for each source, a column for each sink");
  std::optional<Solver> held;
  Proof proof = Proof::failed;
  run_native([&](Watch& watch) {
    require_masses(supply.data(), m, demand.data(), n);
    proof = solve(held.emplace(watch), supply.data(), m, demand.data(), n, costs.data(), watch);
  });
  const Solver& solver = *held;
  const bool solved = proof != Proof::failed;
  auto source_duals = make_array(0.0, m), sink_duals = make_array(0.0, n);
  std::vector<std::int32_t> sources, sinks;
  std::vector<std::int64_t> masses;
  if (solved) {
    std::copy_n(solver.source_duals(), m, source_duals.data());
    std::copy_n(solver.sink_duals(), n, sink_duals.data());
    for (const Solver::Flow& flow : solver.plan()) {
      sources.push_back(flow.source);
      sinks.push_back(flow.sink);
      masses.push_back(flow.mass);
    }
  }
  return {proof,
          solved ? solver.total() : 0.0,
          solved ? solver.pivots() : 0,
          as_array(std::move(sources)),
          as_array(std::move(sinks)),
          as_array(std::move(masses)),
          source_duals,
          sink_duals};
}

std::tuple<Made<double>, Made<std::int64_t>, Made<std::int32_t>> solve_many(const In<std::int64_t, 2>& supply,
                                                                            const In<std::int64_t, 2>& demand,
                                                                            const In<double, 3>& costs, int threads) {
  require_size(supply.length(1), demand.length(1));
  const std::int64_t count = supply.length();
  const auto m = static_cast<int>(supply.length(1)), n = static_cast<int>(demand.length(1));
  require(demand.length() == count && costs.length() == count, "as many demands and costs as supplies");
  require(costs.length(1) == m && costs.length(2) == n, "costs needs a row for each source, a column for each sink");
  auto total = make_array(0.0, count);
  auto pivots = make_array(std::int64_t{0}, count);
  auto proof = make_array(std::int32_t{0}, count);
  const int limit = thread_limit(threads);
  run_native([&](Watch& watch) {
    for (std::int64_t k = 0; k < count; ++k) require_masses(supply.data() + k * m, m, demand.data() + k * n, n);
    std::vector<Solver> solvers;
    for (int worker = 0; worker < worker_count(count, limit); ++worker) solvers.emplace_back(watch);
    const auto body = [&](std::int64_t k, int worker) {
      Solver& solver = solvers[at(worker)];
      proof.data()[k] = static_cast<std::int32_t>(
          solve(solver, supply.data() + k * m, m, demand.data() + k * n, n, costs.data() + k * m * n, watch));
      total.data()[k] = solver.total();
      pivots.data()[k] = solver.pivots();
    };
    for_blocks(count, limit, body, watch);
  });
  return {total, pivots, proof};
}

// One soft plan, its cost, a lower bound on the optimum, the mass that scaling missed, and rounds.
std::tuple<Made<double, 2>, double, double, double, int> soft_plan(const In<double>& supply, const In<double>& demand,
                                                                   const In<float, 2>& costs,
                                                                   const TransportRule& rule) {
  require_size(supply.length(), demand.length());
  const auto m = static_cast<int>(supply.length()), n = static_cast<int>(demand.length());
  require(costs.length() == m && costs.length(1) == n, "costs needs a row for each source, a column for each sink");
  auto plan = make_array(0.0, m, n);
  double value = 0, bound = 0, error = 0;
  int rounds = 0;
  run_native([&](Watch& watch) {
    const int width = padded(n);
    std::vector<float> rows(at(m) * at(width), std::numeric_limits<float>::infinity());
    for (int i = 0; i < m; ++i) {
      std::copy_n(costs.data() + static_cast<std::ptrdiff_t>(i) * n, n, rows.data() + at(i) * at(width));
    }
    require(cost_range(rows.data(), m, n, width).finite, "costs must be finite");
    const SinkhornProblem problem{m, n, width, rows.data(), supply.data(), demand.data()};
    Sinkhorn soft(rule.soft, watch);
    value = soft.solve(problem);
    for (int i = 0; i < m; ++i) std::copy_n(soft.plan() + at(i) * at(width), n, plan.data() + at(i) * at(n));
    bound = soft.lower_bound(problem), error = soft.error(), rounds = soft.rounds();
  });
  return {plan, value, bound, error, rounds};
}

// Shares out the mass of each row over its ways, from starts[row] on, those of most affinity first; the last of them
// takes what is left. A way joins an entry of first and one of second, which give it no more than they have.
std::pair<Made<std::int64_t>, Made<double>> share_out(const Longs& starts, const Longs& ones, const Longs& others,
                                                      const In<double>& affinity, const In<double>& masses,
                                                      const Out<double>& first, const Out<double>& second) {
  const std::int64_t rows = masses.length(), ways = ones.length();
  require(starts.length() == rows + 1, "one start for each row, and the end of the last");
  require(others.length() == ways && affinity.length() == ways, "two ends and an affinity for each way");
  constexpr double nothing = 1e-12;  // of a row's mass
  std::vector<std::int64_t> order, kept;
  std::vector<double> taken;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t start = starts.data()[row], end = starts.data()[row + 1];
    require(0 <= start && start < end && end <= ways, "starts must rise to the number of ways");
    order.resize(at(end - start));
    std::iota(order.begin(), order.end(), start);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t left, std::int64_t right) {
      return affinity.data()[left] > affinity.data()[right];
    });
    double rest = masses.data()[row];
    const double least = nothing * rest;
    for (const std::int64_t way : order) {
      const std::int64_t one = ones.data()[way], other = others.data()[way];
      require(one >= 0 && one < first.length() && other >= 0 && other < second.length(), "no such entry");
      const double most = std::min(first.data()[one], second.data()[other]);
      const bool last = way == order.back();
      if (!last && most <= least) continue;
      const double mass = last ? rest : std::min(rest, most);
      first.data()[one] -= mass;
      second.data()[other] -= mass;
      rest -= mass;
      kept.push_back(way);
      taken.push_back(mass);
      if (rest <= least) break;
    }
  }
  return {as_array(std::move(kept)), as_array(std::move(taken))};
}

std::vector<CountedWord> counted(const Longs& words, const Longs& counts, std::int64_t known, std::int64_t& sum) {
  require(words.length() == counts.length(), "as many words as counts, please");
  require_range(words, 0, known, "a word out of range");
  std::vector<CountedWord> made(at(words.length()));
  for (std::size_t k = 0; k < made.size(); ++k) {
    made[k] = {words.data()[k], counts.data()[k]};
    require(made[k].count >= 1 && made[k].count <= largest_mass - sum, "counts must be positive and fit in 2^61");
    sum += made[k].count;
  }
  std::sort(made.begin(), made.end(), [](const CountedWord& a, const CountedWord& b) { return a.word < b.word; });
  for (std::size_t k = 1; k < made.size(); ++k) require(made[k].word != made[k - 1].word, "a word comes twice");
  return made;
}

// The distance, or NaN where a distance of words is not finite.
double solve_pair(const In<float, 2>& vectors, const Longs& x_words, const Longs& x_counts, const Longs& y_words,
                  const Longs& y_counts) {
  double value = std::numeric_limits<double>::quiet_NaN();
  require(vectors.length(1) <= std::numeric_limits<std::int32_t>::max(), "vectors of fewer dimensions");
  run_native([&](Watch& watch) {
    std::int64_t x_sum = 0, y_sum = 0;
    auto x = counted(x_words, x_counts, vectors.length(), x_sum),
         y = counted(y_words, y_counts, vectors.length(), y_sum);
    require_multiplies(x_sum, x_sum, y_sum, y_sum);
    try {
      value = single_pair(vectors.data(), static_cast<int>(vectors.length(1)), std::move(x), std::move(y), watch);
    } catch (const Unsolved&) {
    }
  });
  return value;
}

void bind_solver(nb::module_& m) {
  nb::enum_<Proof>(m, "Proof", "What is known of a solution.")
      .value("failed", Proof::failed, "A cost, or the optimum, is NaN or infinite.")
      .value("bounded", Proof::bounded, "The gap to the duals is at most 1e-9 of the cost, rounding included.")
      .value("exact", Proof::exact, "Optimal in exact arithmetic.");
  m.def(
      "transport_one", &solve_one, "supply"_in, "demand"_in, "costs"_in,
      "Solve one problem; returns (proof, total cost, pivots, sources, sinks and masses of the plan, duals of sources "
      "and of sinks).");
  m.def("transport_many", &solve_many, "supply"_in, "demand"_in, "costs"_in, "threads"_a,
        "Solve problems of one shape: total costs, pivots and the numbers of the proofs.");
  m.def("share_out", &share_out, "starts"_in, "ones"_in, "others"_in, "affinity"_in, "masses"_in, "first"_in,
        "second"_in,
        "Share out the mass of rows over ways, those of most affinity first; returns the ways that took something, and "
        "how much.");
  m.def("soft_plan", &soft_plan, "supply"_in, "demand"_in, "costs"_in, "rule"_a,
        "The plan of Sinkhorn's rounds between masses that sum to 1; returns (plan, cost, lower bound on the optimum, "
        "mass that scaling missed, rounds).");
  m.def("transport_pair", &solve_pair, "vectors"_in, "x_words"_in, "x_counts"_in, "y_words"_in, "y_counts"_in,
        "wmd of two documents from their words' counts; NaN where a distance of words is not finite.");
}

}  // namespace

void bind_transport(nb::module_& m) {
  nb::enum_<TransportKind>(m, "TransportKind", "What a pair of documents is compared by, given distances of words.")
      .value("wmd", TransportKind::wmd)
      .value("act_omr", TransportKind::act_omr)
      .value("act_residual", TransportKind::act_residual);
  nb::class_<TransportRule>(m, "TransportRule", "A kind of comparison with its parameters.")
      .def(
          "__init__",
          [](TransportRule* rule, TransportKind kind, int transfers, bool keep, double regularization, double tolerance,
             int rounds) {
            require(transfers >= 0 && rounds >= 0, "transfers and rounds must not be negative");
            require(rounds == 0 || (regularization > 0 && tolerance >= 0), "regularization must be positive");
            new (rule) TransportRule{kind, transfers, keep, {regularization, tolerance, rounds}};
          },
          "kind"_a, "transfers"_a = 0, "keep"_a = false, "regularization"_a = 1.0, "tolerance"_a = 0.0, "rounds"_a = 0);
  bind_solver(m);
  nb::class_<TransportDocuments>(m, "TransportDocuments", "Two sets of documents, to be compared by transport.")
      .def(nb::init<const WholeView&, const WholeView&, In<float, 2>, Words, Words, const TransportRule&, bool>(),
           "x"_a, "y"_a, "costs"_in, "row_of"_in, "column_of"_in, "rule"_a, "shared"_a, nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), "A word of x costs costs[row_of[word of x], column_of[word of y]] onto a word of y.")
      .def(nb::init<const WholeView&, const WholeView&, const FloatView&, double, bool>(), "x"_a, "y"_a, "graph"_a,
           "c_max"_a, "keep"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           "Costs of related words, c_max for all others.")
      .def("all_pairs", &all_values, "symmetric"_a, "offset"_a, "out"_in, "threads"_a,
           "All values; returns the pair without an optimum, or (-1, -1).")
      .def("search", &nearest_values, "bounds"_in, "allowed"_in, "slack"_a, "k"_a, "budget"_a, "threads"_a,
           "The k nearest of each query, given lower bounds that may be up to `slack` too high: rows, values, what is "
           "proved, counts (solved, stopped by the dual bound, looked at, left for lack of budget) of each query, and "
           "the pair without an optimum or (-1, -1).");
}

}  // namespace wordferry
