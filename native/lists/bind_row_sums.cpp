#include "lists/repeats_view.hpp"
#include "lists/row_sums.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

template <class Word, class Count>
void add(const In<std::int64_t>& indptr, const In<Word>& words, const In<Count>& counts, const In<double>& weights,
         bool squared, const RepeatedWords& repeats, const Out<double>& sums, int threads) {
  require(indptr.length() == sums.length() + 1, "indptr has one number more than there are rows");
  require(words.length() == counts.length(), "one count for each word");
  const BagRows<Word, Count> bags{indptr.data(), words.data(), counts.data(), sums.length(), words.length()};
  const Repeats counted = repeats.get(sums.length());
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = add_row_sums(bags, weights.data(), weights.length(), squared, counted, sums.data(), thread_limit(threads),
                         watch);
  });
  require(sound, "a row leads outside of the arrays, or a word has no weight");
}

template <class Word, class Count>
void bind(nb::module_& m) {
  m.def("add_row_sums", &add<Word, Count>, nb::arg("indptr").noconvert(), nb::arg("words").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("weights").noconvert(), nb::arg("squared"), nb::arg("repeats"),
        nb::arg("sums").noconvert(), nb::arg("threads"),
        "Add what the words of each row count, times their weights, to its sum, or the squares of that.");
}

template <class Word>
void bind_counts(nb::module_& m) {
  bind<Word, std::uint8_t>(m);
  bind<Word, std::uint16_t>(m);
  bind<Word, std::int32_t>(m);
}

}  // namespace

void bind_row_sums(nb::module_& m) {
  nb::enum_<Growth>(m, "Growth", "How what a repeated word counts grows with its count.")
      .value("counts", Growth::counts)
      .value("logarithm", Growth::logarithm)
      .value("saturation", Growth::saturation);
  nb::class_<RepeatedWords>(m, "Repeats", "How much a word counts that a document has more than once.")
      .def(nb::init<Growth, In<double>>(), nb::arg("growth"), nb::arg("room").noconvert());
  bind_counts<std::uint16_t>(m);
  bind_counts<std::int32_t>(m);
}

}  // namespace wordferry
