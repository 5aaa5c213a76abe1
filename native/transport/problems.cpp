// Transport problems that are given as masses and costs: one, many of one shape, soft ones; and mass shared out over
// ways.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "support/at.hpp"
#include "support/bind.hpp"
#include "support/view.hpp"
#include "transport/document_pairs.hpp"
#include "transport/solver.hpp"

namespace wordferry {

namespace {

using Longs = In<std::int64_t>;

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

Solved transport_one(const Longs& supply, const Longs& demand, const In<double, 2>& costs) {
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
  auto source_duals = make_array(0.0, m), sink_duals = make_array(0.0, n);
  std::copy_n(solver.source_duals(), m, source_duals.data());
  std::copy_n(solver.sink_duals(), n, sink_duals.data());
  std::vector<std::int32_t> sources, sinks;
  std::vector<std::int64_t> masses;
  for (const Solver::Flow& flow : solver.plan()) {
    sources.push_back(flow.source);
    sinks.push_back(flow.sink);
    masses.push_back(flow.mass);
  }
  return {proof,
          solver.total(),
          solver.pivots(),
          as_array(std::move(sources)),
          as_array(std::move(sinks)),
          as_array(std::move(masses)),
          source_duals,
          sink_duals};
}

std::tuple<Made<double>, Made<std::int64_t>, Made<std::int32_t>> transport_many(const In<std::int64_t, 2>& supply,
                                                                                const In<std::int64_t, 2>& demand,
                                                                                const In<double, 3>& costs,
                                                                                int threads) {
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
  nb::enum_<Proof>(m, "Proof", "What is known of a solution.")
      .value("failed", Proof::failed, "A cost, or the optimum, is NaN or infinite.")
      .value("bounded", Proof::bounded, "The gap to the duals is at most 1e-9 of the cost, rounding included.")
      .value("exact", Proof::exact, "Optimal in exact arithmetic.");
  m.def(
      "transport_one", &transport_one, "supply"_in, "demand"_in, "costs"_in,
      "Solve one problem; returns (proof, total cost, pivots, sources, sinks and masses of the plan, duals of sources "
      "and of sinks).");
  m.def("transport_many", &transport_many, "supply"_in, "demand"_in, "costs"_in, "threads"_a,
        "Solve problems of one shape: total costs, pivots and the numbers of the proofs.");
  m.def("share_out", &share_out, "starts"_in, "ones"_in, "others"_in, "affinity"_in, "masses"_in, "first"_in,
        "second"_in,
        "Share out the mass of rows over ways, those of most affinity first; returns the ways that took something, and "
        "how much.");
  m.def("soft_plan", &soft_plan, "supply"_in, "demand"_in, "costs"_in, "rule"_a,
        "The plan of Sinkhorn's rounds between masses that sum to 1; returns (plan, cost, lower bound on the optimum, "
        "mass that scaling missed, rounds).");
}

}  // namespace wordferry
