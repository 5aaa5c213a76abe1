#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include "stored/passes.hpp"
#include "stored/views.hpp"

namespace wordferry {

namespace {

Made<double> sums_of(const StoredDocuments& documents, const In<double>& weights, bool squared,
                     const RepeatedWords& repeats, int threads, const Allowed& allowed) {
  auto sums = make_array(0.0, documents.documents());
  const Repeats counted = repeats.get(documents.documents());
  const bool* mask = mask_of(allowed, documents.documents());
  run_native([&](Watch& watch) {
    add_row_sums(documents.bags(), {weights.data(), weights.length()}, squared, counted, mask, sums.data(),
                 thread_limit(threads), watch);
  });
  return sums;
}

// Some rows of one block, whose words may begin anywhere in those of all rows.
StoredBags block_bags(const std::int64_t* indptr, std::int64_t rows, const AnyArray& words, const AnyArray& counts) {
  require(counts.length == words.length, "one count for each word");
  return {indptr, words.data, words.width, counts.data, counts.width, rows, words.length};
}

// How many rows the list of each word gets that have it once, and more often; `bits` is not negative for words with
// bits.
void count(const WordArray& words, const CountArray& counts, const In<std::int64_t>& bits,
           const Out<std::int64_t>& once, const Out<std::int64_t>& repeated) {
  const StoredBags bags = block_bags(nullptr, 0, any_array(words), any_array(counts));
  require(once.length() == bits.length() && repeated.length() == bits.length(), "one number for each word");
  const ListPlaces lists{once.data(), repeated.data(), nullptr, bits.data(), bits.length()};
  run_native([&](Watch& watch) { count_lists(bags, lists, watch); });
}

template <class Count>
void place(const In<std::int64_t>& indptr, const WordArray& words, const In<Count>& counts,
           const Out<std::int64_t>& once, const Out<std::int64_t>& repeated, const Out<std::int64_t>& counters,
           const In<std::int64_t>& bits, const Out<std::uint16_t>& out_rows, const Out<Count>& out_counts,
           const Out<std::uint16_t>& out_bits) {
  const std::int64_t rows = indptr.length() - 1;
  require(rows >= 0 && rows <= list_block_rows, "a block has up to 65,536 rows");
  for (std::int64_t row = 0; row < rows; ++row) {
    require(indptr.data()[row] >= 0 && indptr.data()[row] <= indptr.data()[row + 1], "indptr must not fall");
  }
  const StoredBags bags = block_bags(indptr.data(), rows, any_array(words), any_array(CountArray(counts)));
  require(bags.stored == indptr.data()[rows] - indptr.data()[0], "one word and one count for each entry");
  require(once.length() == bits.length() && repeated.length() == bits.length() && counters.length() == bits.length(),
          "one place for each word");
  const ListPlaces places{once.data(), repeated.data(), counters.data(), bits.data(), bits.length()};
  const ListsOut out{out_rows.data(),   out_counts.data(),   out_bits.data(),
                     out_rows.length(), out_counts.length(), out_bits.length()};
  run_native([&](Watch& watch) { place_lists(bags, places, out, watch); });
}

template <class Count>
void bind_place(nb::module_& m) {
  m.def("place_lists", &place<Count>, "indptr"_in, "words"_in, "counts"_in, "once"_in, "repeated"_in, "counters"_in,
        "bits"_in, "out_rows"_in, "out_counts"_in, "out_bits"_in);
}

}  // namespace

void bind_stored(nb::module_& m) {
  m.def("count_lists", &count, "words"_in, "counts"_in, "bits"_in, "once"_in, "repeated"_in);
  bind_place<std::uint8_t>(m);
  bind_place<std::uint16_t>(m);
  bind_place<std::int32_t>(m);
  nb::enum_<Growth>(m, "Growth", "How what a repeated word counts grows with its count.")
      .value("counts", Growth::counts)
      .value("logarithm", Growth::logarithm)
      .value("saturation", Growth::saturation);
  nb::class_<RepeatedWords>(m, "Repeats", "How much a word counts that a document has more than once.")
      .def(nb::init<Growth, const In<double>&>(), "growth"_a, "room"_in);
  nb::class_<StoredWordLists>(m, "StoredWordLists", "Posting lists as they are stored.")
      .def(nb::init<std::int64_t, const In<std::int64_t>&, const In<std::int32_t>&, const In<std::int64_t, 2>&,
                    const In<std::uint16_t>&, const CountArray&, const In<std::int64_t>&, const In<std::int32_t>&,
                    const In<std::int32_t>&, const In<std::uint16_t>&>(),
           "documents"_a, "blocks"_in, "words"_in, "starts"_in, "rows"_in, "counts"_in, "bit_blocks"_in, "bit_words"_in,
           "bit_sizes"_in, "bits"_in);
  nb::class_<StoredDocuments>(m, "StoredDocuments", "Documents as they are stored, by word and by row.")
      .def(nb::init<const StoredWordLists&, const In<std::int64_t>&, const WordArray&, const CountArray&>(), "lists"_a,
           "indptr"_in, "words"_in, "counts"_in)
      .def_prop_ro("documents", &StoredDocuments::documents)
      .def("sums", &sums_of, "weights"_in, "squared"_a, "repeats"_a, "threads"_a, "allowed"_in.none() = nb::none(),
           "What the words of each document count times their weights, summed up in their order, or the squares; 0 for "
           "documents that are not allowed.");
  nb::class_<WeightsView>(m, "WordWeights", "What each word weighs; 0 for one that does not count.")
      .def(nb::init<const In<double>&>(), "values"_in);
  nb::class_<WeighedDocuments>(m, "WeighedDocuments", "Stored documents with the sums of what their words weigh.")
      .def(nb::init<const StoredDocuments&, const In<float>&, const In<double>&, const In<float>&, float,
                    const RepeatedWords&>(),
           "stored"_a, "totals"_in, "exact"_in, "norms"_in, "longest"_a, "repeats"_a);
}

}  // namespace wordferry
