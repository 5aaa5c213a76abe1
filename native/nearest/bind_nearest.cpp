#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

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

// The nearest rows to each of a panel of queries: rows and distances have a line for each, the places without a row are
// left alone. Returns how many entries of lists and how many documents were looked at.
std::tuple<std::int64_t, std::int64_t> nearest(const std::vector<const ListQuery*>& queries, const Parts& parts,
                                               const WeightsView& weights, const Allowed& allowed,
                                               const Cosines& cosines, float slack, int threads,
                                               const Out<std::int64_t, 2>& rows, const Out<float, 2>& distances) {
  std::int64_t documents = 0;
  const std::vector<SearchedPart> all = searched(parts, allowed, documents);
  require(!queries.empty() && queries.size() <= panel_queries, "a panel has one to sixteen queries");
  const auto lines = static_cast<std::int64_t>(queries.size());
  require(rows.length() == lines && distances.length() == lines && rows.length(1) == distances.length(1),
          "rows and distances need a line for each query");
  require(slack >= 0.0f, "slack must not be negative");
  for (const ListQuery* query : queries) {
    require(query != nullptr, "a query must not be None");
    require(query->c_max() == queries.front()->c_max(), "the queries of a panel must have the same c_max");
    require(query->vocabulary() >= weights.get().count, "a query must know every word that weighs something");
  }
  const std::vector<CosineShare> shares = shares_of(cosines, queries);
  std::vector<NearestDocuments> found(queries.size());
  bool sound = true;
  run_native([&](Watch& watch) {
    std::vector<BlendedQuery> made;
    for (std::size_t q = 0; q < queries.size(); ++q) made.push_back({queries[q]->made(), shares[q]});
    sound = nearest_by_lists(all, weights.get(), made, slack, rows.length(1), thread_limit(threads), found, watch);
  });
  require(sound, "the arrays lead outside of themselves");
  std::int64_t visited = 0, evaluated = 0;
  for (std::size_t q = 0; q < found.size(); ++q) {
    visited += found[q].visited;
    evaluated += found[q].evaluated;
    for (std::size_t i = 0; i < found[q].best.size(); ++i) {
      const std::size_t at = q * rows.shape(1) + i;
      rows.data()[at] = found[q].best[i].row;
      distances.data()[at] = found[q].best[i].distance;
    }
  }
  return {visited, evaluated};
}

void distances(const ListQuery& query, const Parts& parts, const WeightsView& weights, const Cosines& cosines,
               const In<std::int64_t>& rows, const Out<float>& out) {
  std::int64_t documents = 0;
  const std::vector<SearchedPart> all = searched(parts, {}, documents);
  require(query.vocabulary() >= weights.get().count, "a query must know every word that weighs something");
  require(rows.length() == out.length(), "one distance for each row");
  require_range(rows.data(), rows.length(), 0, documents, "rows must lie in the parts");
  const CosineShare share = shares_of(cosines, {&query}).front();
  bool sound = true;
  run_native([&](Watch& watch) {
    BlendedQuery made{query.made(), share};
    sound = distances_of(all, weights.get(), made, rows.data(), rows.length(), out.data(), watch);
  });
  require(sound, "the arrays lead outside of themselves");
}

}  // namespace

void bind_nearest_lists(nb::module_& m) {
  nb::class_<ListQuery>(m, "ListQuery", "A query of Rel-RWMD against documents with lists.")
      .def(nb::init<In<std::int32_t>, In<float>, In<std::int32_t>, In<std::int32_t>, In<float>, float, Overlap,
                    std::int64_t>(),
           nb::arg("words").noconvert(), nb::arg("masses").noconvert(), nb::arg("positions").noconvert(),
           nb::arg("related").noconvert(), nb::arg("costs").noconvert(), nb::arg("c_max"), nb::arg("overlap"),
           nb::arg("vocabulary"));
  nb::class_<CosineView>(m, "CosineShare", "What the cosine distance adds to a share of Rel-RWMD.")
      .def(nb::init<In<float>, float, float, float>(), nb::arg("unit").noconvert(), nb::arg("moved"),
           nb::arg("unshared"), nb::arg("lost"));
  m.def("nearest_by_lists", &nearest, nb::arg("queries"), nb::arg("parts"), nb::arg("weights"),
        nb::arg("allowed").noconvert().none(), nb::arg("cosines"), nb::arg("slack"), nb::arg("threads"),
        nb::arg("rows").noconvert(), nb::arg("distances").noconvert(),
        "The nearest rows to each query of a panel; how many entries of lists and documents were looked at.");
  m.def("list_distances", &distances, nb::arg("query"), nb::arg("parts"), nb::arg("weights"), nb::arg("cosines"),
        nb::arg("rows").noconvert(), nb::arg("out").noconvert(), "The distances of some rows to a query.");
}

}  // namespace wordferry
