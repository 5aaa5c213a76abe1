// Transport over many pairs of documents: all values of a block, and the exact nearest of each query.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "support/at.hpp"
#include "support/best.hpp"
#include "support/bind.hpp"
#include "support/view.hpp"
#include "transport/document_pairs.hpp"

namespace wordferry {

namespace {

using Where = std::pair<std::int64_t, std::int64_t>;
using MakePairs = std::function<std::unique_ptr<Pairs>(Watch&)>;

constexpr std::int64_t others_a_block = 256;
constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr double bound_slack = 1e-9;  // what rounding may add to a dual bound, relative

// Values at or above this cannot enter, whatever their row.
double limit_of(const NearestHits& nearest) {
  return nearest.full() ? std::nextafterf(nearest.worst(), std::numeric_limits<float>::infinity()) : no_limit;
}

// What a search is given: lower bounds on the values of each query (row) and each row of y (column), what rounding
// may have added to them, which rows of y may be found, and how many problems per query may solve (-1: all it takes).
struct Bounded {
  const float* bounds;
  const bool* allowed;
  double slack;
  std::int64_t others, k, budget;
};

// And what it gives back, for each query.
struct Hits {
  Made<std::int64_t, 2> rows;    // k, -1 where there are fewer
  Made<float, 2> values;         // k, sorted by (value, row)
  Made<bool, 2> proved;          // k
  Made<std::int64_t, 2> counts;  // 4: solved, stopped by the dual bound, looked at, left for lack of budget
};

// The allowed rows of y with their bounds.
std::vector<NearRow> bounded_rows(const Bounded& ranked, std::int64_t query) {
  std::vector<NearRow> rows;
  rows.reserve(at(ranked.others));
  for (std::int64_t row = 0; row < ranked.others; ++row) {
    if (ranked.allowed[row]) rows.push_back({ranked.bounds[query * ranked.others + row], row});
  }
  return rows;
}

void search_one(Pairs& pairs, std::int64_t query, const Bounded& candidates, const Hits& found, Watch& watch) {
  std::int64_t* counts = found.counts.data() + 4 * query;
  NearestHits nearest(candidates.k);
  double unproved = no_limit;  // the least bound among rows left unsolved
  pairs.begin(query, 0);
  for (RisingRows queue(bounded_rows(candidates, query)); !queue.empty(); queue.pop()) {
    const NearRow next = queue.first();
    const double first_bound = next.value - candidates.slack;
    if (!(first_bound < limit_of(nearest)) && !(next.value == no_limit && !nearest.full())) break;
    watch.check();
    ++counts[2];
    double bound = pairs.bound(next.row);
    bound = std::max(first_bound, bound - bound_slack * std::fabs(bound));
    if (!(bound < limit_of(nearest)) && nearest.full()) {
      ++counts[1];
      continue;
    }
    if (counts[0] == candidates.budget) {
      unproved = std::min(unproved, bound);
      ++counts[3];
      if (!nearest.full()) break;  // nothing more can be ruled out
      continue;
    }
    ++counts[0];
    nearest.offer(static_cast<float>(pairs.solve(next.row)), next.row);
  }
  const std::vector<NearRow> hits = std::move(nearest).sorted();
  for (std::int64_t place = 0; place < candidates.k; ++place) {
    const std::int64_t slot = query * candidates.k + place;
    const bool here = place < std::ssize(hits);
    const NearRow hit = here ? hits[at(place)] : NearRow{std::numeric_limits<float>::infinity(), -1};
    found.rows.data()[slot] = hit.row;
    found.values.data()[slot] = hit.value;
    const double above = std::nextafterf(hit.value, std::numeric_limits<float>::infinity());
    found.proved.data()[slot] = unproved == no_limit || (here && above <= unproved);
  }
}

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

// Two sets of documents and one kind of costs between their words, which nothing changes: several threads may use one.
class TransportDocuments {
 public:
  TransportDocuments(const WholeView& x, const WholeView& y, const In<float, 2>& costs, const In<std::int32_t>& row_of,
                     const In<std::int32_t>& column_of, const TransportRule& rule, bool shared)
      : TransportDocuments(x, y, hold(x.held, y.held, costs, row_of, column_of)) {
    const std::int64_t rows = costs.length(), columns = costs.length(1);
    require(!shared || (rows > 0 && columns > 0), "shared costs need a row and a column");
    require_places(x, row_of, rows, "a word of x has no row of costs");
    require_places(y, column_of, columns, "a word of y has no column of costs");
    DenseCosts dense{costs.data(), row_of.data(), column_of.data(), columns};
    if (shared) {
      dense.shared_row = static_cast<std::int32_t>(rows - 1);
      dense.shared_column = static_cast<std::int32_t>(columns - 1);
    }
    make_ = [rule, dense, from = Bags(x), to = Bags(y)](Watch& watch) {
      return (rule.kind == TransportKind::wmd ? wmd_pairs : act_pairs)(from, to, dense, rule, watch);
    };
  }

  TransportDocuments(const WholeView& x, const WholeView& y, const FloatView& graph, double c_max, bool keep)
      : TransportDocuments(x, y, hold(x.held, y.held, graph.held)) {
    require(graph.rows == graph.columns, "the graph must be square");
    require(x.largest < graph.rows && y.largest < graph.rows, "a word that the graph does not know");
    make_ = [keep, from = Bags(x), to = Bags(y), hub = HubCosts{graph, c_max}](Watch& watch) {
      return hub_pairs(from, to, hub, keep, watch);
    };
  }

  // out[i, j] = the value of rows i of x and j of y. With `symmetric`, x is y from its row `offset` on, and values of
  // rows j < i + offset are left to the caller to mirror.
  Where all_pairs(bool symmetric, std::int64_t offset, const Out<float, 2>& out, int threads) const {
    require(out.length() == queries_ && out.length(1) == others_, "out has another shape than the documents");
    require(offset >= 0 && offset <= std::numeric_limits<std::int32_t>::max(), "offset must not be negative");
    const std::int64_t pieces = (others_ + others_a_block - 1) / others_a_block;
    const int limit = thread_limit(threads);
    return report([&](Watch& watch) {
      std::vector<std::unique_ptr<Pairs>> workers(at(worker_count(queries_ * pieces, limit)));
      const auto block = [&](std::int64_t number, int worker) {
        Pairs& pairs = made(workers[at(worker)], watch);
        const std::int64_t query = number / pieces, first = number % pieces * others_a_block;
        const std::int64_t last = std::min(others_, first + others_a_block);
        const std::int64_t begin = symmetric ? std::max(first, query + offset) : first;
        if (begin >= last) return;
        pairs.begin(query, others_);
        for (std::int64_t other = begin; other < last; ++other) {
          watch.check();
          out.data()[query * others_ + other] = static_cast<float>(pairs.solve(other));
        }
      };
      for_blocks(queries_ * pieces, limit, block, watch);
    });
  }

  // Rows, values, what is proved, counts of each query, and the pair without an optimum or (-1, -1).
  std::tuple<Made<std::int64_t, 2>, Made<float, 2>, Made<bool, 2>, Made<std::int64_t, 2>, Where> search(
      const In<float, 2>& bounds, const In<bool>& allowed, double slack, std::int64_t k, std::int64_t budget,
      int threads) const {
    require(bounds.length() == queries_ && bounds.length(1) == others_, "bounds has another shape than the documents");
    require(allowed.length() == others_, "allowed needs a value for each document of y");
    require(k >= 1 && k <= std::max<std::int64_t>(others_, 1),
            "k must be at least 1, and no more than the documents of y");
    const Bounded candidates{bounds.data(), allowed.data(), slack, others_, k, budget};
    const Hits found{make_array(std::int64_t{-1}, queries_, k), make_array(0.0f, queries_, k),
                     make_array(false, queries_, k), make_array(std::int64_t{0}, queries_, 4)};
    const int limit = thread_limit(threads);
    const Where where = report([&](Watch& watch) {
      std::vector<std::unique_ptr<Pairs>> workers(at(worker_count(queries_, limit)));
      const auto one = [&](std::int64_t query, int worker) {
        search_one(made(workers[at(worker)], watch), query, candidates, found, watch);
      };
      for_blocks(queries_, limit, one, watch);
    });
    return {found.rows, found.values, found.proved, found.counts, where};
  }

 private:
  TransportDocuments(const WholeView& x, const WholeView& y, Held held)
      : queries_(x.rows), others_(y.rows), held_(std::move(held)) {
    require_multiplies(x.largest_sum, x.smallest_sum, y.largest_sum, y.smallest_sum);
  }

  // The evaluator of a worker, made when it first has something to do.
  Pairs& made(std::unique_ptr<Pairs>& pairs, Watch& watch) const {
    if (!pairs) pairs = make_(watch);
    return *pairs;
  }

  static void require_places(const WholeView& view, const In<std::int32_t>& place_of, std::int64_t places,
                             const char* message) {
    require(place_of.length() > view.largest, "a place for each word");
    bool fits = true;
    for (const std::int32_t word : view.words) {
      const std::int32_t place = place_of.data()[word];
      fits &= place >= 0 && place < places;
    }
    require(fits, message);
  }

  std::int64_t queries_, others_;  // rows of x and of y
  Held held_;
  MakePairs make_;
};

}  // namespace

void bind_transport_documents(nb::module_& m) {
  nb::class_<TransportDocuments>(m, "TransportDocuments", "Two sets of documents, to be compared by transport.")
      .def(nb::init<const WholeView&, const WholeView&, const In<float, 2>&, const In<std::int32_t>&,
                    const In<std::int32_t>&, const TransportRule&, bool>(),
           "x"_a, "y"_a, "costs"_in, "row_of"_in, "column_of"_in, "rule"_a, "shared"_a,
           "A word of x costs costs[row_of[word of x], column_of[word of y]] onto a word of y.")
      .def(nb::init<const WholeView&, const WholeView&, const FloatView&, double, bool>(), "x"_a, "y"_a, "graph"_a,
           "c_max"_a, "keep"_a, "Costs of related words, c_max for all others.")
      .def("all_pairs", &TransportDocuments::all_pairs, "symmetric"_a, "offset"_a, "out"_in, "threads"_a,
           "All values; returns the pair without an optimum, or (-1, -1).")
      .def("search", &TransportDocuments::search, "bounds"_in, "allowed"_in, "slack"_a, "k"_a, "budget"_a, "threads"_a,
           "The k nearest of each query, given lower bounds that may be up to `slack` too high: rows, values, what is "
           "proved, counts (solved, stopped by the dual bound, looked at, left for lack of budget) of each query, and "
           "the pair without an optimum or (-1, -1).");
}

}  // namespace wordferry
