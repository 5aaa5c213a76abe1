#include <nanobind/nanobind.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/bind.hpp"
#include "transport/cost_rows.hpp"
#include "transport/single_pair.hpp"
#include "transport/solver.hpp"
#include "transport/search.hpp"

namespace wordferry {

namespace {

using Words = In<std::int32_t>;
using Longs = In<std::int64_t>;

// What every call on pairs of documents takes: two sets of bags and one kind of costs.
struct PairCall {
  Bags x, y;
  DenseCosts dense{};
  HubCosts hub{};
  int kind = 0;  // 0 wmd, 1 rel-wmd residual, 2 rel-wmd keep, 3 act omr, 4 act residual
  int transfers = 0;

  MakePairs maker() const {
    return [call = *this](Watch& watch) -> std::unique_ptr<Pairs> {
      switch (call.kind) {
        case 1:
        case 2:
          return hub_pairs(call.x, call.y, call.hub, call.kind == 2, watch);
        case 3:
        case 4:
          return act_pairs(call.x, call.y, call.dense, call.transfers, call.kind == 4, watch);
        default:
          return wmd_pairs(call.x, call.y, call.dense, watch);
      }
    };
  }
};

// Keeps the arrays alive that a PairCall points into.
class Documents {
 public:
  Documents(Longs x_indptr, Words x_indices, Longs x_data, Longs y_indptr, Words y_indices, Longs y_data)
      : arrays_{x_indptr, x_data, y_indptr, y_data}, words_{x_indices, y_indices} {
    call.x = csr<std::int64_t>(x_indptr, x_indices, x_data);
    call.y = csr<std::int64_t>(y_indptr, y_indices, y_data);
  }
  void distances(In<float, 2> costs, Words row_of, Words column_of, int kind, int transfers) {
    costs_ = costs;
    row_of_ = row_of;
    column_of_ = column_of;
    call.dense = {costs.data(), row_of.data(), column_of.data(), static_cast<std::int64_t>(costs.shape(1))};
    call.kind = kind;
    call.transfers = transfers;
  }
  void related(Longs indptr, Words indices, In<float> data, double c_max, bool keep) {
    graph_indptr_ = indptr;
    graph_indices_ = indices;
    costs_1d_ = data;
    call.hub = {csr<float>(indptr, indices, data), static_cast<std::int64_t>(indptr.shape(0)) - 1, c_max};
    call.kind = keep ? 2 : 1;
  }
  PairCall call;

 private:
  std::vector<Longs> arrays_;
  std::vector<Words> words_;
  In<float, 2> costs_;
  In<float> costs_1d_;
  Words row_of_, column_of_, graph_indices_;
  Longs graph_indptr_;
};

// Runs `work` and returns the pair without an optimum, or (-1, -1).
template <class Work>
nb::tuple report(Work&& work) {
  Unsolved where{-1, -1};
  run_native([&](Watch& watch) {
    try {
      work(watch);
    } catch (const Unsolved& unsolved) {
      where = unsolved;
    }
  });
  return nb::make_tuple(where.x, where.y);
}

nb::tuple solve_one(Longs supply, Longs demand, In<double, 2> costs, Out<double> source_duals, Out<double> sink_duals,
                    Out<std::int32_t> plan_source, Out<std::int32_t> plan_sink, Out<std::int64_t> plan_mass) {
  std::optional<Solver> held;
  Proof proof = Proof::failed;
  const auto m = static_cast<int>(supply.shape(0)), n = static_cast<int>(demand.shape(0));
  run_native([&](Watch& watch) {
    Solver& solver = held.emplace(watch);
    solver.prepare(m, n, Precision::fine);
    std::copy_n(supply.data(), m, solver.supply());
    std::copy_n(demand.data(), n, solver.demand());
    Pace pace(watch);
    for (int i = 0; i < m; ++i) {
      pace.spend(n);
      std::copy_n(costs.data() + static_cast<std::ptrdiff_t>(i) * n, n, solver.fine_row(i));
    }
    proof = solver.solve();
  });
  const Solver& solver = *held;
  if (proof == Proof::failed) return nb::make_tuple(0, 0.0, std::int64_t{0}, std::int64_t{0});
  std::copy_n(solver.source_duals(), m, source_duals.data());
  std::copy_n(solver.sink_duals(), n, sink_duals.data());
  std::size_t count = 0;
  for (const Solver::Flow& flow : solver.plan()) {
    plan_source.data()[count] = flow.source;
    plan_sink.data()[count] = flow.sink;
    plan_mass.data()[count++] = flow.mass;
  }
  return nb::make_tuple(static_cast<int>(proof), solver.total(), solver.pivots(), static_cast<std::int64_t>(count));
}

void solve_many(In<std::int64_t, 2> supply, In<std::int64_t, 2> demand, In<double, 3> costs, Out<double> total,
                Out<std::int64_t> pivots, Out<std::int32_t> proof, int threads) {
  run_native([&](Watch& watch) {
    std::vector<Solver> solvers;
    for (int worker = 0; worker < std::max(threads, 1); ++worker) solvers.emplace_back(watch);
    const auto m = static_cast<int>(supply.shape(1)), n = static_cast<int>(demand.shape(1));
    const auto body = [&](std::int64_t k, int worker) {
      Solver& solver = solvers[static_cast<std::size_t>(worker)];
      solver.prepare(m, n, Precision::fine);
      std::copy_n(supply.data() + k * m, m, solver.supply());
      std::copy_n(demand.data() + k * n, n, solver.demand());
      for (int i = 0; i < m; ++i) std::copy_n(costs.data() + (k * m + i) * n, n, solver.fine_row(i));
      proof.data()[k] = static_cast<std::int32_t>(solver.solve());
      total.data()[k] = solver.total();
      pivots.data()[k] = solver.pivots();
    };
    for_blocks(static_cast<std::int64_t>(supply.shape(0)), threads, body, watch);
  });
}

std::vector<CountedWord> counted(const Longs& words, const Longs& counts, std::size_t known) {
  if (words.shape(0) != counts.shape(0)) throw nb::value_error("as many words as counts, please");
  std::vector<CountedWord> made(words.shape(0));
  for (std::size_t k = 0; k < made.size(); ++k) {
    made[k] = {words.data()[k], counts.data()[k]};
    if (made[k].word < 0 || made[k].word >= static_cast<std::int64_t>(known) || made[k].count < 1) {
      throw nb::value_error("a word out of range, or a count below 1");
    }
  }
  return made;
}

// The distance, or NaN where a distance of words is not finite.
double solve_pair(In<float, 2> vectors, Longs x_words, Longs x_counts, Longs y_words, Longs y_counts) {
  auto x = counted(x_words, x_counts, vectors.shape(0)), y = counted(y_words, y_counts, vectors.shape(0));
  double value = std::numeric_limits<double>::quiet_NaN();
  run_native([&](Watch& watch) {
    try {
      value = single_pair(vectors.data(), static_cast<int>(vectors.shape(1)), std::move(x), std::move(y), watch);
    } catch (const Unsolved&) {
    }
  });
  return value;
}

void distances_of_words(In<float, 2> query, In<float, 2> vectors, Out<float, 2> out, int threads) {
  constexpr std::int64_t words_a_block = 512;
  run_native([&](Watch& watch) {
    const auto words = static_cast<std::int64_t>(vectors.shape(0));
    const auto dimensions = static_cast<int>(vectors.shape(1)), queries = static_cast<int>(query.shape(0));
    const auto body = [&](std::int64_t block, int) {
      Pace pace(watch);
      const std::int64_t first = block * words_a_block, count = std::min(words_a_block, words - first);
      word_distances(query.data(), queries, vectors.data() + first * dimensions, count, dimensions, out.data() + first,
                     words, pace);
    };
    for_blocks((words + words_a_block - 1) / words_a_block, threads, body, watch);
  });
}

}  // namespace

void bind_transport(nb::module_& m) {
  m.def("transport_one", &solve_one, nb::arg("supply").noconvert(), nb::arg("demand").noconvert(),
        nb::arg("costs").noconvert(), nb::arg("source_duals").noconvert(), nb::arg("sink_duals").noconvert(),
        nb::arg("plan_source").noconvert(), nb::arg("plan_sink").noconvert(), nb::arg("plan_mass").noconvert(),
        "Solve one problem; returns (proof, total cost, pivots, arcs of the plan), proof 0 for costs not finite.");
  m.def("transport_many", &solve_many, nb::arg("supply").noconvert(), nb::arg("demand").noconvert(),
        nb::arg("costs").noconvert(), nb::arg("total").noconvert(), nb::arg("pivots").noconvert(),
        nb::arg("proof").noconvert(), nb::arg("threads"), "Solve problems of one shape: total cost, pivots and proof.");
  m.def("transport_pair", &solve_pair, nb::arg("vectors").noconvert(), nb::arg("x_words").noconvert(),
        nb::arg("x_counts").noconvert(), nb::arg("y_words").noconvert(), nb::arg("y_counts").noconvert(),
        "wmd of two documents from their words' counts; NaN where a distance of words is not finite.");
  m.def("word_distances", &distances_of_words, nb::arg("query").noconvert(), nb::arg("vectors").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"), "Euclidean distances of query vectors to all vectors.");
  nb::class_<Documents>(m, "TransportDocuments", "Two sets of bags of whole weights, to be compared by transport.")
      .def(nb::init<Longs, Words, Longs, Longs, Words, Longs>(), nb::arg("x_indptr").noconvert(),
           nb::arg("x_indices").noconvert(), nb::arg("x_data").noconvert(), nb::arg("y_indptr").noconvert(),
           nb::arg("y_indices").noconvert(), nb::arg("y_data").noconvert())
      .def("distances", &Documents::distances, nb::arg("costs").noconvert(), nb::arg("row_of").noconvert(),
           nb::arg("column_of").noconvert(), nb::arg("kind"), nb::arg("transfers"))
      .def("related", &Documents::related, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("data").noconvert(), nb::arg("c_max"), nb::arg("keep"))
      .def(
          "all_pairs",
          [](const Documents& self, bool symmetric, std::int64_t offset, Out<float, 2> out, int threads) {
            return report([&](Watch& watch) {
              all_pairs(self.call.maker(), self.call.x.rows, self.call.y.rows, symmetric, offset, out.data(), threads,
                        watch);
            });
          },
          nb::arg("symmetric"), nb::arg("offset"), nb::arg("out").noconvert(), nb::arg("threads"))
      .def(
          "search",
          [](const Documents& self, In<float, 2> bounds, In<std::uint8_t> allowed, double slack, std::int64_t k,
             std::int64_t budget, Out<std::int64_t, 2> found, Out<float, 2> values, Out<std::uint8_t, 2> proved,
             Out<std::int64_t, 2> counts, int threads) {
            const Bounded ranked{bounds.data(), allowed.data(), slack, self.call.y.rows, k, budget};
            return report([&](Watch& watch) {
              search(self.call.maker(), self.call.x.rows, ranked,
                     {found.data(), values.data(), proved.data(), counts.data()}, threads, watch);
            });
          },
          nb::arg("bounds").noconvert(), nb::arg("allowed").noconvert(), nb::arg("slack"), nb::arg("k"),
          nb::arg("budget"),
          nb::arg("found").noconvert(), nb::arg("values").noconvert(), nb::arg("proved").noconvert(),
          nb::arg("counts").noconvert(), nb::arg("threads"));
}

}  // namespace wordferry
