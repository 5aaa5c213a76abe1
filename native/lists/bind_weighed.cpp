#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "lists/list_query.hpp"
#include "lists/weighed_view.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

std::vector<WeighedPart> weighed(const std::vector<const Weighed*>& parts, const ListQuery& query, const Weights& weights,
                                 const std::optional<In<std::uint8_t>>& allowed, std::int64_t& documents) {
  const WordWeights words = weights.get();
  require(query.vocabulary() >= words.known_count + words.other_count, "the query must know every word that weighs something");
  documents = 0;
  std::vector<WeighedPart> found;
  for (const Weighed* part : parts) {
    require(part != nullptr, "a part must not be None");
    found.push_back(part->get(documents, allowed ? allowed->data() : nullptr));
    documents += part->documents();
  }
  require(!allowed || allowed->length() == documents, "allowed needs a value for each document");
  return found;
}

Looked nearest(const ListQuery& query, const std::vector<const Weighed*>& parts, const Weights& weights,
               const std::optional<In<std::uint8_t>>& allowed, float slack, int threads, const Out<std::int64_t>& rows,
               const Out<float>& distances) {
  std::int64_t documents = 0;
  const std::vector<WeighedPart> all = weighed(parts, query, weights, allowed, documents);
  return query.search(rows, distances, slack, [&](TouchedQuery& made, NearestRows& found, Watch& watch) {
    return nearest_weighed(all, weights.get(), made, slack, rows.length(), thread_limit(threads), found, watch);
  });
}

void distances(const ListQuery& query, const std::vector<const Weighed*>& parts, const Weights& weights,
               const In<std::int64_t>& rows, const Out<float>& out) {
  std::int64_t documents = 0;
  const std::vector<WeighedPart> all = weighed(parts, query, weights, std::nullopt, documents);
  query.compare(rows, out, documents, [&](TouchedQuery& made, Watch& watch) {
    return weighed_distances_of(all, weights.get(), made, rows.data(), rows.length(), out.data(), watch);
  });
}

}  // namespace

void bind_weighed_lists(nb::module_& m) {
  nb::class_<Weights>(m, "WordWeights", "What each word weighs, with a vector and without.")
      .def(nb::init<In<double>, In<double>>(), nb::arg("known").noconvert(), nb::arg("others").noconvert());
  nb::class_<Weighed>(m, "WeighedPart", "Documents with their words of both kinds, and the sums of what those weigh.")
      .def(nb::init<const ListPart&, const ListPart&, In<double>, float, const RepeatedWords&>(), nb::arg("known"),
           nb::arg("others"), nb::arg("totals").noconvert(), nb::arg("words"), nb::arg("repeats"));
  m.def("nearest_weighed", &nearest, nb::arg("query"), nb::arg("parts"), nb::arg("weights"),
        nb::arg("allowed").noconvert().none(), nb::arg("slack"), nb::arg("threads"), nb::arg("rows").noconvert(),
        nb::arg("distances").noconvert(),
        "The nearest rows; how many there are, how many entries of lists and how many documents were looked at.");
  m.def("weighed_distances", &distances, nb::arg("query"), nb::arg("parts"), nb::arg("weights"),
        nb::arg("rows").noconvert(), nb::arg("out").noconvert(), "The distances of some rows.");
}

}  // namespace wordferry
