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
  run_sound("a word is out of range", [&](Watch& watch) {
    return count_lists(bags, words.length(), bits.data(), once.data(), repeated.data(), watch);
  });
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
  run_sound("a word or its place is out of range", [&](Watch& watch) {
    return place_lists(bags, places, out_rows.length(), out_counts.length(), out_bits.length(), out_rows.data(),
                       out_counts.data(), out_bits.data(), watch);
  });
}

template <class Word, class Count>
void bind(nb::module_& m) {
  m.def("count_lists", &count<Word, Count>, "words"_in, "counts"_in, "bits"_in, "once"_in, "repeated"_in);
  m.def("place_lists", &place<Word, Count>, "indptr"_in, "words"_in, "counts"_in, "once"_in, "repeated"_in,
        "counters"_in, "bits"_in, "out_rows"_in, "out_counts"_in, "out_bits"_in);
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
