#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <tuple>
#include <vector>

#include "nearest/list_query.hpp"
#include "nearest/panel_sums.hpp"
#include "stored/part.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

using Parts = std::vector<const WeighedDocuments*>;

// The share of the cosine distance in that of a query.
class CosineView {
 public:
  CosineView(In<float> unit, float moved, float unshared, float lost)
      : unit_(std::move(unit)), moved_(moved), unshared_(unshared), lost_(lost) {
    constexpr float least = 1e-7f, most = 1e7f;
    require(moved >= least && moved <= most && unshared >= least && unshared <= most, "shares must lie in 1e-7 .. 1e7");
    bool fits = true;
    for (std::int64_t i = 0; i < unit_.length(); ++i) fits &= unit_.data()[i] >= 0.0f && unit_.data()[i] <= 2.0f;
    require(fits, "the parts of a unit vector must lie in 0 .. 1");
  }

  CosineShare get(const ListQuery& query) const {
    require(unit_.length() == query.words(), "one part of the unit for each word of the query");
    return {unit_.data(), unit_.length(), moved_, unshared_, lost_};
  }

 private:
  In<float> unit_;
  float moved_, unshared_, lost_;
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
  std::int64_t documents = 0;
  const std::vector<SearchedPart> all = searched(parts, allowed, documents);
  require(!queries.empty() && queries.size() <= panel_queries, "a panel has one to sixteen queries");
  require(k >= 0 && k <= largest_k, "k must not be negative, and of moderate size");
  require(slack >= 0.0f, "slack must not be negative");
  for (const ListQuery* query : queries) {
    require(query != nullptr, "a query must not be None");
    require(query->c_max() == queries.front()->c_max(), "the queries of a panel must have the same c_max");
    require(query->vocabulary() >= weights.get().count, "a query must know every word that weighs something");
  }
  const std::vector<CosineShare> shares = shares_of(cosines, queries);
  std::vector<NearestDocuments> found(queries.size());
  run_sound("the arrays lead outside of themselves", [&](Watch& watch) {
    std::vector<BlendedQuery> made;
    for (std::size_t q = 0; q < queries.size(); ++q) made.push_back({queries[q]->made(), shares[q]});
    return nearest_by_lists(all, weights.get(), made, slack, k, thread_limit(threads), found, watch);
  });
  std::int64_t visited = 0, evaluated = 0;
  auto rows = make_array(std::int64_t{-1}, queries.size(), k);
  auto distances = make_array(std::numeric_limits<float>::infinity(), queries.size(), k);
  for (std::size_t q = 0; q < found.size(); ++q) {
    visited += found[q].visited;
    evaluated += found[q].evaluated;
    for (std::size_t i = 0; i < found[q].best.size(); ++i) {
      const std::size_t at = q * static_cast<std::size_t>(k) + i;
      rows.data()[at] = found[q].best[i].row;
      distances.data()[at] = found[q].best[i].distance;
    }
  }
  return {std::move(rows), std::move(distances), visited, evaluated};
}

Made<float> distances(const ListQuery& query, const Parts& parts, const WeightsView& weights, const Cosines& cosines,
                      const In<std::int64_t>& rows) {
  std::int64_t documents = 0;
  const std::vector<SearchedPart> all = searched(parts, {}, documents);
  require(query.vocabulary() >= weights.get().count, "a query must know every word that weighs something");
  require_range(rows.data(), rows.length(), 0, documents, "rows must lie in the parts");
  const CosineShare share = shares_of(cosines, {&query}).front();
  auto out = make_array(0.0f, rows.length());
  run_sound("the arrays lead outside of themselves", [&](Watch& watch) {
    BlendedQuery made{query.made(), share};
    return distances_of(all, weights.get(), made, rows.data(), rows.length(), out.data(), watch);
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
      .def(nb::init<In<float>, float, float, float>(), "unit"_in, "moved"_a, "unshared"_a, "lost"_a);
  m.def("nearest_by_lists", &nearest, "queries"_a, "parts"_a, "weights"_a, "allowed"_in.none(), "cosines"_a, "slack"_a,
        "k"_a, "threads"_a,
        "The nearest rows to each query of a panel and their distances; how many entries of lists and documents were "
        "looked at.");
  m.def("list_distances", &distances, "query"_a, "parts"_a, "weights"_a, "cosines"_a, "rows"_in,
        "The distances of some rows to a query.");
}

}  // namespace wordferry
