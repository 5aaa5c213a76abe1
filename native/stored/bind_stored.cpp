#include <nanobind/stl/variant.h>

#include "stored/part.hpp"
#include "stored/row_sums.hpp"

namespace wordferry {

namespace {

Made<double> sums_of(const StoredDocuments& documents, const In<double>& weights, bool squared,
                     const RepeatedWords& repeats, int threads) {
  auto sums = make_array(0.0, documents.documents());
  const Repeats counted = repeats.get(documents.documents());
  run_sound("a row leads outside of the arrays, or a word has no weight", [&](Watch& watch) {
    return add_row_sums(documents.bags(), weights.data(), weights.length(), squared, counted, sums.data(),
                        thread_limit(threads), watch);
  });
  return sums;
}

template <class Count>
void bind_lists(nb::class_<StoredWordLists>& lists) {
  lists.def(nb::init<std::int64_t, In<std::int64_t>, In<std::int32_t>, In<std::int64_t, 2>, In<std::uint16_t>,
                     In<Count>, In<std::int64_t>, In<std::int32_t>, In<std::int32_t>, In<std::uint16_t>>(),
            "documents"_a, "blocks"_in, "words"_in, "starts"_in, "rows"_in, "counts"_in, "bit_blocks"_in,
            "bit_words"_in, "bit_sizes"_in, "bits"_in);
}

}  // namespace

void bind_stored(nb::module_& m) {
  nb::enum_<Growth>(m, "Growth", "How what a repeated word counts grows with its count.")
      .value("counts", Growth::counts)
      .value("logarithm", Growth::logarithm)
      .value("saturation", Growth::saturation);
  nb::class_<RepeatedWords>(m, "Repeats", "How much a word counts that a document has more than once.")
      .def(nb::init<Growth, In<double>>(), "growth"_a, "room"_in);
  nb::class_<StoredWordLists> lists(m, "StoredWordLists", "Posting lists as they are stored.");
  bind_lists<std::uint8_t>(lists);
  bind_lists<std::uint16_t>(lists);
  bind_lists<std::int32_t>(lists);
  nb::class_<StoredDocuments>(m, "StoredDocuments", "Documents as they are stored, by word and by row.")
      .def(nb::init<const StoredWordLists&, In<std::int64_t>, WordArray, CountArray>(), "lists"_a, "indptr"_in,
           "words"_in, "counts"_in)
      .def_prop_ro("documents", &StoredDocuments::documents)
      .def("sums", &sums_of, "weights"_in, "squared"_a, "repeats"_a, "threads"_a,
           "What the words of each document count times their weights, summed up in their order, or the squares.");
  nb::class_<WeightsView>(m, "WordWeights", "What each word weighs; 0 for one that does not count.")
      .def(nb::init<In<double>>(), "values"_in);
  nb::class_<WeighedDocuments>(m, "WeighedDocuments", "Stored documents with the sums of what their words weigh.")
      .def(nb::init<const StoredDocuments&, In<float>, In<double>, In<float>, float, const RepeatedWords&>(),
           "stored"_a, "totals"_in, "exact"_in, "norms"_in, "longest"_a, "repeats"_a);
}

}  // namespace wordferry
