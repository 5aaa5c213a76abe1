#include "stored/place_lists.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

// How many rows the list of each word gets that have it once, and more often; `bits` is not negative for words with
// bits.
template <class Word, class Count>
void count(const In<Word>& words, const In<Count>& counts, const In<std::int64_t>& bits, const Out<std::int64_t>& once,
           const Out<std::int64_t>& repeated) {
  require(counts.length() == words.length(), "one count for each word");
  require(once.length() == bits.length() && repeated.length() == bits.length(), "one number for each word");
  const BlockBags<Word, Count> bags{nullptr, words.data(), counts.data(), 0, bits.length()};
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = count_lists(bags, words.length(), bits.data(), once.data(), repeated.data(), watch);
  });
  require(sound, "a word is out of range");
}

template <class Word, class Count>
void place(const In<std::int64_t>& indptr, const In<Word>& words, const In<Count>& counts,
           const Out<std::int64_t>& once, const Out<std::int64_t>& repeated, const Out<std::int64_t>& counters,
           const In<std::int64_t>& bits, const Out<std::uint16_t>& out_rows, const Out<Count>& out_counts,
           const Out<std::uint16_t>& out_bits) {
  const std::int64_t rows = indptr.length() - 1;
  require(rows >= 0 && rows <= list_block_rows, "a block has up to 65,536 rows");
  for (std::int64_t row = 0; row < rows; ++row) {
    require(indptr.data()[row] >= 0 && indptr.data()[row] <= indptr.data()[row + 1], "indptr must not fall");
  }
  require(words.length() == indptr.data()[rows] - indptr.data()[0] && counts.length() == words.length(),
          "one word and one count for each entry");
  require(once.length() == bits.length() && repeated.length() == bits.length() && counters.length() == bits.length(),
          "one place for each word");
  const BlockBags<Word, Count> bags{indptr.data(), words.data(), counts.data(), rows, bits.length()};
  const ListPlaces places{once.data(), repeated.data(), counters.data(), bits.data()};
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = place_lists(bags, places, out_rows.length(), out_counts.length(), out_bits.length(), out_rows.data(),
                        out_counts.data(), out_bits.data(), watch);
  });
  require(sound, "a word or its place is out of range");
}

template <class Word, class Count>
void bind(nb::module_& m) {
  m.def("count_lists", &count<Word, Count>, nb::arg("words").noconvert(), nb::arg("counts").noconvert(),
        nb::arg("bits").noconvert(), nb::arg("once").noconvert(), nb::arg("repeated").noconvert());
  m.def("place_lists", &place<Word, Count>, nb::arg("indptr").noconvert(), nb::arg("words").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("once").noconvert(), nb::arg("repeated").noconvert(),
        nb::arg("counters").noconvert(), nb::arg("bits").noconvert(), nb::arg("out_rows").noconvert(),
        nb::arg("out_counts").noconvert(), nb::arg("out_bits").noconvert());
}

template <class Word>
void bind_counts(nb::module_& m) {
  bind<Word, std::uint8_t>(m);
  bind<Word, std::uint16_t>(m);
  bind<Word, std::int32_t>(m);
}

}  // namespace

void bind_place_lists(nb::module_& m) {
  bind_counts<std::uint16_t>(m);
  bind_counts<std::int32_t>(m);
}

}  // namespace wordferry
