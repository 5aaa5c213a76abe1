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

// The share of the cosine distance in that of a query; `less` may be empty, where products are not known.
class CosineView {
 public:
  CosineView(In<float> unit, float moved, float unshared, float lost, In<float> less)
      : unit_(std::move(unit)), less_(std::move(less)), moved_(moved), unshared_(unshared), lost_(lost) {
    constexpr float least = 1e-7f, most = 1e7f;
    require(moved >= least && moved <= most && unshared >= least && unshared <= most, "shares must lie in 1e-7 .. 1e7");
  }

  CosineShare get(const ListQuery& query, std::int64_t documents) const {
    require(unit_.length() == query.words(), "one part of the unit for each word of the query");
    require(less_.length() == documents || less_.length() == 0, "one product for each document, or none");
    return {unit_.data(), unit_.length(), moved_, unshared_, lost_, less_.length() == 0 ? nullptr : less_.data()};
  }

 private:
  In<float> unit_, less_;
  float moved_, unshared_, lost_;
};

using Cosine = std::optional<const CosineView*>;

CosineShare share_of(const Cosine& cosine, const ListQuery& query, std::int64_t documents) {
  return cosine && *cosine != nullptr ? (*cosine)->get(query, documents) : CosineShare{};
}

// The nearest rows to each of a panel of queries: rows and distances have a line for each, the places without a row are
// left alone. Returns how many entries of lists and how many documents were looked at.
std::tuple<std::int64_t, std::int64_t> nearest(const std::vector<const ListQuery*>& queries, const Parts& parts,
                                               const WeightsView& weights, const Allowed& allowed, const Cosine& cosine,
                                               float slack, int threads, const Out<std::int64_t, 2>& rows,
                                               const Out<float, 2>& distances) {
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
  const CosineShare share = share_of(cosine, *queries.front(), documents);
  require(share.unit == nullptr || queries.size() == 1, "a query with a share of cosine stands alone");
  std::vector<NearestDocuments> found(queries.size());
  bool sound = true;
  run_native([&](Watch& watch) {
    std::vector<TouchedQuery> made;
    for (const ListQuery* query : queries) made.push_back(query->made());
    const int limit = thread_limit(threads);
    sound = made.size() == 1
                ? nearest_by_lists(all, weights.get(), made[0], share, slack, rows.length(1), limit, found[0], watch)
                : nearest_of_panel(all, weights.get(), made, slack, rows.length(1), limit, found, watch);
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

void distances(const ListQuery& query, const Parts& parts, const WeightsView& weights, const Cosine& cosine,
               const In<std::int64_t>& rows, const Out<float>& out) {
  std::int64_t documents = 0;
  const std::vector<SearchedPart> all = searched(parts, {}, documents);
  require(query.vocabulary() >= weights.get().count, "a query must know every word that weighs something");
  require(rows.length() == out.length(), "one distance for each row");
  require_range(rows.data(), rows.length(), 0, documents, "rows must lie in the parts");
  const CosineShare share = share_of(cosine, query, documents);
  bool sound = true;
  run_native([&](Watch& watch) {
    TouchedQuery made = query.made();
    sound = distances_of(all, weights.get(), made, share, rows.data(), rows.length(), out.data(), watch);
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
      .def(nb::init<In<float>, float, float, float, In<float>>(), nb::arg("unit").noconvert(), nb::arg("moved"),
           nb::arg("unshared"), nb::arg("lost"), nb::arg("less").noconvert());
  m.def("nearest_by_lists", &nearest, nb::arg("queries"), nb::arg("parts"), nb::arg("weights"),
        nb::arg("allowed").noconvert().none(), nb::arg("cosine").none(), nb::arg("slack"), nb::arg("threads"),
        nb::arg("rows").noconvert(), nb::arg("distances").noconvert(),
        "The nearest rows to each query of a panel; how many entries of lists and documents were looked at.");
  m.def("list_distances", &distances, nb::arg("query"), nb::arg("parts"), nb::arg("weights"), nb::arg("cosine").none(),
        nb::arg("rows").noconvert(), nb::arg("out").noconvert(), "The distances of some rows to a query.");
}

}  // namespace wordferry
