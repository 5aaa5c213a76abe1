#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>
#include <vector>

#include "nearest/nearest.hpp"
#include "nearest/panel_sums.hpp"
#include "stored/views.hpp"

namespace wordferry {

namespace {

std::pair<Made<float>, std::int64_t> bounds(const StoredWordLists& view, const In<std::int32_t>& touched,
                                            const In<float>& near, const In<float>& gain, const In<float>& common,
                                            const In<float>& totals, const RepeatedWords& repeats, float rest,
                                            int threads) {
  require(near.length() == touched.length() && gain.length() == touched.length() && common.length() == touched.length(),
          "near, gain and common have one value for each touched word");
  require(view.get().row_count == totals.length(), "totals has one value for each document of the lists");
  require_rising(touched, "touched words must rise");
  const Repeats counted = repeats.get(totals.length());
  const TouchedWords query{touched.data(), near.data(), gain.data(), common.data(), touched.length()};
  std::int64_t visited = 0;
  auto out = make_array(0.0f, totals.length());
  run_native([&](Watch& watch) {
    visited = list_bounds(view.get(), query, totals.data(), counted, rest, out.data(), thread_limit(threads), watch);
  });
  return {std::move(out), visited};
}

constexpr float largest_cost = 1e30f;

// A query by the numbers of its words; those that no document has come behind all others.
class ListQuery {
 public:
  ListQuery(In<std::int32_t> words, In<float> masses, In<std::int32_t> positions, In<std::int32_t> related,
            In<float> costs, float c_max, Overlap overlap, std::int64_t vocabulary)
      : words_(std::move(words)), masses_(std::move(masses)), positions_(std::move(positions)),
        related_(std::move(related)), costs_(std::move(costs)), c_max_(c_max), overlap_(overlap),
        vocabulary_(vocabulary) {
    require(vocabulary >= 0 && vocabulary <= INT32_MAX, "the vocabulary must fit in an int32");
    require(words_.length() == masses_.length(), "one mass for each word");
    require(positions_.length() == related_.length() && costs_.length() == related_.length(),
            "one cost for each relation");
    require(overlap != Overlap::residual, "lists cannot serve residual");
    require(c_max >= 0.0f && c_max <= largest_cost, "c_max must be a cost");
    require_range(words_, 0, vocabulary, "words must lie in the vocabulary");
    require_range(related_, 0, vocabulary, "related words must lie in the vocabulary");
    require_range(positions_, 0, words_.length(), "positions must lie in the query");
    require_all(costs_, [c_max](float one) { return one >= 0.0f && one <= c_max; }, "costs must lie in 0 .. c_max");
    require_all(masses_, [](float one) { return one >= 0.0f && one <= 1.0f; }, "masses must lie in 0 .. 1");
  }

  float c_max() const { return c_max_; }
  std::int64_t words() const { return words_.length(); }
  void require_words(const WordWeights& weights) const {
    require(vocabulary_ >= weights.count, "a query must know every word that weighs something");
  }

  TouchedQuery made() const {
    TouchedQuery query(vocabulary_, c_max_, overlap_);
    for (std::int64_t i = 0; i < words_.length(); ++i) query.add(words_.data()[i], masses_.data()[i]);
    for (std::int64_t i = 0; i < related_.length(); ++i) {
      query.relate(positions_.data()[i], related_.data()[i], costs_.data()[i]);
    }
    query.finish();
    return query;
  }

 private:
  In<std::int32_t> words_;
  In<float> masses_;
  In<std::int32_t> positions_, related_;
  In<float> costs_;
  float c_max_;
  Overlap overlap_;
  std::int64_t vocabulary_;
};

// The share of the cosine distance in that of a query.
class CosineView {
 public:
  CosineView(const In<float>& unit, float moved, float unshared, float lost)
      : share_{unit.data(), unit.length(), moved, unshared, lost}, held_(hold(unit)) {
    constexpr float least = 1e-7f, most = 1e7f;
    require(moved >= least && moved <= most && unshared >= least && unshared <= most, "shares must lie in 1e-7 .. 1e7");
    require_all(
        unit, [](float one) { return one >= 0.0f && one <= 2.0f; }, "the parts of a unit vector must lie in 0 .. 1");
  }

  const CosineShare& get(const ListQuery& query) const {
    require(share_.words == query.words(), "one part of the unit for each word of the query");
    return share_;
  }

 private:
  CosineShare share_;
  Held held_;
};

using Cosines = std::vector<const CosineView*>;

// The shares of the queries; no query has one, or all have the same.
std::vector<CosineShare> shares_of(const Cosines& cosines, const std::vector<const ListQuery*>& queries) {
  std::vector<CosineShare> found(queries.size());
  require(cosines.empty() || cosines.size() == queries.size(), "a share of cosine for each query, or for none");
  for (std::size_t q = 0; q < cosines.size(); ++q) {
    require(cosines[q] != nullptr, "a share must not be None");
    found[q] = cosines[q]->get(*queries[q]);
    require(found[q].moved == found[0].moved && found[q].unshared == found[0].unshared,
            "the queries of a panel must have the same shares");
  }
  return found;
}

// The nearest rows to each of a panel of queries and their distances, -1 and infinity where there is none, and how many
// entries of lists and how many documents were looked at.
std::tuple<Made<std::int64_t, 2>, Made<float, 2>, std::int64_t, std::int64_t> nearest(
    const std::vector<const ListQuery*>& queries, const Parts& parts, const WeightsView& weights,
    const Allowed& allowed, const Cosines& cosines, float slack, std::int64_t k, int threads) {
  const std::vector<SearchedPart> all = searched(parts, allowed);
  require(!queries.empty() && queries.size() <= panel_queries, "a panel has one to sixteen queries");
  require_k(k);
  require(slack >= 0.0f, "slack must not be negative");
  for (const ListQuery* query : queries) {
    require(query != nullptr, "a query must not be None");
    require(query->c_max() == queries.front()->c_max(), "the queries of a panel must have the same c_max");
    query->require_words(weights.get());
  }
  const std::vector<CosineShare> shares = shares_of(cosines, queries);
  std::vector<NearestDocuments> found;
  run_native([&](Watch& watch) {
    std::vector<BlendedQuery> made;
    for (std::size_t q = 0; q < queries.size(); ++q) made.push_back({queries[q]->made(), shares[q]});
    nearest_by_lists(all, weights.get(), made, slack, k, thread_limit(threads), found, watch);
  });
  std::int64_t evaluated = 0;
  for (const NearestDocuments& one : found) evaluated += one.evaluated;
  auto [rows, distances] = nearest_arrays(found, k);
  return {std::move(rows), std::move(distances), found.front().visited, evaluated};
}

Made<float> distances(const ListQuery& query, const Parts& parts, const WeightsView& weights, const Cosines& cosines,
                      const In<std::int64_t>& rows) {
  const std::vector<SearchedPart> all = searched(parts, rows);
  query.require_words(weights.get());
  const CosineShare share = shares_of(cosines, {&query}).front();
  auto out = make_array(0.0f, rows.length());
  run_native([&](Watch& watch) {
    BlendedQuery made{query.made(), share};
    distances_of(all, weights.get(), made, rows.data(), rows.length(), out.data(), watch);
  });
  return out;
}

}  // namespace

void bind_nearest_lists(nb::module_& m) {
  nb::class_<ListQuery>(m, "ListQuery", "A query of Rel-RWMD against documents with lists.")
      .def(nb::init<In<std::int32_t>, In<float>, In<std::int32_t>, In<std::int32_t>, In<float>, float, Overlap,
                    std::int64_t>(),
           "words"_in, "masses"_in, "positions"_in, "related"_in, "costs"_in, "c_max"_a, "overlap"_a, "vocabulary"_a);
  nb::class_<CosineView>(m, "CosineShare", "What the cosine distance adds to a share of Rel-RWMD.")
      .def(nb::init<const In<float>&, float, float, float>(), "unit"_in, "moved"_a, "unshared"_a, "lost"_a);
  m.def("list_bounds", &bounds, "lists"_a, "touched"_in, "near"_in, "gain"_in, "common"_in, "totals"_in, "repeats"_a,
        "rest"_a, "threads"_a, "For each row the rest less what touched words save, and entries visited.");
  m.def("nearest_by_lists", &nearest, "queries"_a, "parts"_a, "weights"_a, "allowed"_in.none(), "cosines"_a, "slack"_a,
        "k"_a, "threads"_a,
        "The nearest rows to each query of a panel and their distances; how many entries of lists and documents were "
        "looked at.");
  m.def("list_distances", &distances, "query"_a, "parts"_a, "weights"_a, "cosines"_a, "rows"_in,
        "The distances of some rows to a query.");
}

}  // namespace wordferry
