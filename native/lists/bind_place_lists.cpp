#include "lists/place_lists.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t most_rows = 1 << 16;

template <class Word, class Count>
void place(const In<std::int64_t>& indptr, const In<Word>& words, const In<Count>& counts,
           const Out<std::int64_t>& places, const Out<std::uint16_t>& out_rows, const Out<Count>& out_counts) {
  const std::int64_t rows = indptr.length() - 1;
  require(rows >= 0 && rows <= most_rows, "a block has up to 65,536 rows");
  for (std::int64_t row = 0; row < rows; ++row) {
    require(indptr.data()[row] >= 0 && indptr.data()[row] <= indptr.data()[row + 1], "indptr must not fall");
  }
  require(words.length() == indptr.data()[rows] - indptr.data()[0] && counts.length() == words.length(),
          "one word and one count for each entry");
  require(out_rows.length() == out_counts.length(), "one count for each row of a list");
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = place_lists(indptr.data(), words.data(), counts.data(), rows, places.data(), places.length(),
                        out_rows.length(), out_rows.data(), out_counts.data(), watch);
  });
  require(sound, "a word or its place is out of range");
}

template <class Word, class Count>
void bind(nb::module_& m) {
  m.def("place_lists", &place<Word, Count>, nb::arg("indptr").noconvert(), nb::arg("words").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("places").noconvert(), nb::arg("out_rows").noconvert(),
        nb::arg("out_counts").noconvert());
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
