#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <utility>

#include "lists/list_query.hpp"
#include "lists/panel_sums.hpp"
#include "lists/part.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

Looked nearest(const ListQuery& query, const Parts& parts, const std::optional<In<std::uint8_t>>& allowed, float slack,
               int threads, const Out<std::int64_t>& rows, const Out<float>& distances) {
  const std::vector<SearchedPart> all = searched(parts, allowed);
  return query.search(rows, distances, slack, [&](TouchedQuery& made, NearestRows& found, Watch& watch) {
    return nearest_by_lists(all, made, slack, rows.length(), thread_limit(threads), found, watch);
  });
}

void distances(const ListQuery& query, const Parts& parts, const In<std::int64_t>& rows, const Out<float>& out) {
  const std::vector<SearchedPart> all = searched(parts, std::nullopt);
  const std::int64_t documents = all.empty() ? 0 : all.back().start + all.back().bags.rows;
  query.compare(rows, out, documents, [&](TouchedQuery& made, Watch& watch) {
    return distances_of(all, made, rows.data(), rows.length(), out.data(), watch);
  });
}

// The nearest rows to each of a panel of queries: rows and distances have a line for each, the places without a row are
// left alone. Returns how many entries of lists and how many documents were looked at.
std::tuple<std::int64_t, std::int64_t> nearest_many(const std::vector<const ListQuery*>& queries, const Parts& parts,
                                                    const std::optional<In<std::uint8_t>>& allowed, float slack,
                                                    int threads, const Out<std::int64_t, 2>& rows,
                                                    const Out<float, 2>& distances) {
  const std::vector<SearchedPart> all = searched(parts, allowed);
  require(queries.size() <= panel_queries, "a panel has at most sixteen queries");
  const auto lines = static_cast<std::int64_t>(queries.size());
  require(rows.length() == lines && distances.length() == lines && rows.length(1) == distances.length(1),
          "rows and distances need a line for each query");
  require(slack >= 0.0f, "slack must not be negative");
  for (const ListQuery* query : queries) {
    require(query != nullptr, "a query must not be None");
    require(query->c_max() == queries.front()->c_max() && query->vocabulary() == queries.front()->vocabulary(),
            "the queries of a panel must have the same c_max and vocabulary");
  }
  std::vector<NearestRows> found;
  bool sound = true;
  run_native([&](Watch& watch) {
    std::vector<TouchedQuery> made;
    for (const ListQuery* query : queries) made.push_back(query->made());
    sound = nearest_of_panel(all, made, slack, rows.length(1), thread_limit(threads), found, watch);
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

template <class Word, class Count>
void bind_part(nb::class_<ListPart>& part) {
  part.def(nb::init<const StoredWordLists&, In<std::int64_t>, In<Word>, In<Count>, In<float>>(), nb::arg("lists"),
           nb::arg("indptr").noconvert(), nb::arg("bag_words").noconvert(), nb::arg("bag_counts").noconvert(),
           nb::arg("totals").noconvert());
}

}  // namespace

void bind_nearest_lists(nb::module_& m) {
  nb::class_<ListPart> part(m, "ListPart", "Documents as they are stored, by row and by word.");
  bind_part<std::uint16_t, std::uint8_t>(part);
  bind_part<std::uint16_t, std::uint16_t>(part);
  bind_part<std::uint16_t, std::int32_t>(part);
  bind_part<std::int32_t, std::uint8_t>(part);
  bind_part<std::int32_t, std::uint16_t>(part);
  bind_part<std::int32_t, std::int32_t>(part);
  nb::class_<ListQuery>(m, "ListQuery", "A query of Rel-RWMD against documents with lists.")
      .def(nb::init<In<std::int32_t>, In<float>, In<std::int32_t>, In<std::int32_t>, In<float>, float, Overlap,
                    std::int64_t>(),
           nb::arg("words").noconvert(), nb::arg("masses").noconvert(), nb::arg("positions").noconvert(),
           nb::arg("related").noconvert(), nb::arg("costs").noconvert(), nb::arg("c_max"), nb::arg("overlap"),
           nb::arg("vocabulary"))
      .def("nearest", &nearest, nb::arg("parts"), nb::arg("allowed").noconvert().none(), nb::arg("slack"),
           nb::arg("threads"), nb::arg("rows").noconvert(), nb::arg("distances").noconvert(),
           "The nearest rows; how many there are, how many entries of lists and how many documents were looked at.")
      .def("distances", &distances, nb::arg("parts"), nb::arg("rows").noconvert(), nb::arg("out").noconvert(),
           "The distances of some rows.");
  m.def("nearest_many", &nearest_many, nb::arg("queries"), nb::arg("parts"), nb::arg("allowed").noconvert().none(),
        nb::arg("slack"), nb::arg("threads"), nb::arg("rows").noconvert(), nb::arg("distances").noconvert(),
        "The nearest rows to each query of a panel; how many entries of lists and documents were looked at.");
}

}  // namespace wordferry
