#include <nanobind/stl/variant.h>

#include "stored/part.hpp"
#include "stored/row_sums.hpp"

namespace wordferry {

namespace {

void add_weights(const StoredDocuments& documents, const In<double>& weights, bool squared,
                 const RepeatedWords& repeats, const Out<double>& sums, int threads) {
  require(sums.length() == documents.documents(), "one sum for each document");
  const Repeats counted = repeats.get(documents.documents());
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = add_row_sums(documents.bags(), weights.data(), weights.length(), squared, counted, sums.data(),
                         thread_limit(threads), watch);
  });
  require(sound, "a row leads outside of the arrays, or a word has no weight");
}

template <class Count>
void bind_lists(nb::class_<StoredWordLists>& lists) {
  lists.def(nb::init<std::int64_t, In<std::int64_t>, In<std::int32_t>, In<std::int64_t, 2>, In<std::uint16_t>,
                     In<Count>, In<std::int64_t>, In<std::int32_t>, In<std::int32_t>, In<std::uint16_t>>(),
            nb::arg("documents"), nb::arg("blocks").noconvert(), nb::arg("words").noconvert(),
            nb::arg("starts").noconvert(), nb::arg("rows").noconvert(), nb::arg("counts").noconvert(),
            nb::arg("bit_blocks").noconvert(), nb::arg("bit_words").noconvert(), nb::arg("bit_sizes").noconvert(),
            nb::arg("bits").noconvert());
}

}  // namespace

void bind_stored(nb::module_& m) {
  nb::enum_<Growth>(m, "Growth", "How what a repeated word counts grows with its count.")
      .value("counts", Growth::counts)
      .value("logarithm", Growth::logarithm)
      .value("saturation", Growth::saturation);
  nb::class_<RepeatedWords>(m, "Repeats", "How much a word counts that a document has more than once.")
      .def(nb::init<Growth, In<double>>(), nb::arg("growth"), nb::arg("room").noconvert());
  nb::class_<StoredWordLists> lists(m, "StoredWordLists", "Posting lists as they are stored.");
  bind_lists<std::uint8_t>(lists);
  bind_lists<std::uint16_t>(lists);
  bind_lists<std::int32_t>(lists);
  nb::class_<StoredDocuments>(m, "StoredDocuments", "Documents as they are stored, by word and by row.")
      .def(nb::init<const StoredWordLists&, In<std::int64_t>, WordArray, CountArray>(), nb::arg("lists"),
           nb::arg("indptr").noconvert(), nb::arg("words").noconvert(), nb::arg("counts").noconvert())
      .def("add_sums", &add_weights, nb::arg("weights").noconvert(), nb::arg("squared"), nb::arg("repeats"),
           nb::arg("sums").noconvert(), nb::arg("threads"),
           "Add what the words of each document count, times their weights, to its sum, or the squares of that.");
  nb::class_<WeightsView>(m, "WordWeights", "What each word weighs; 0 for one that does not count.")
      .def(nb::init<In<double>>(), nb::arg("values").noconvert());
  nb::class_<WeighedDocuments>(m, "WeighedDocuments", "Stored documents with the sums of what their words weigh.")
      .def(nb::init<const StoredDocuments&, In<float>, In<double>, In<float>, float, const RepeatedWords&>(),
           nb::arg("stored"), nb::arg("totals").noconvert(), nb::arg("exact").noconvert(), nb::arg("norms").noconvert(),
           nb::arg("longest"), nb::arg("repeats"));
}

}  // namespace wordferry
