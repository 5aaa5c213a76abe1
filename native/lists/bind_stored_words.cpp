#include "lists/stored_words.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "lists/stored_view.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

std::int64_t best(const StoredWordLists& known, const StoredWordLists& others, const In<std::int32_t>& slots,
                  const In<std::int32_t>& words, const In<std::uint8_t>& is_other, const In<std::uint8_t>& is_exact,
                  const In<double>& factors, double stem, double floor, double slope, const In<std::int32_t>& lengths,
                  const std::optional<In<std::uint8_t>>& allowed, const Out<std::int64_t>& rows, const Out<double>& scores) {
  const auto count = static_cast<std::int64_t>(lengths.shape(0));
  require(known.documents() == count && others.documents() == count, "one length for each document of the lists");
  require(words.shape(0) == slots.shape(0) && is_other.shape(0) == slots.shape(0) &&
              is_exact.shape(0) == slots.shape(0),
          "one word, kind and form for each slot");
  require(rows.shape(0) == scores.shape(0), "rows and scores must have the same length");
  std::vector<StoredForm> forms;
  for (std::size_t i = 0; i < slots.shape(0); ++i) {
    const std::int32_t slot = slots.data()[i];
    require(slot >= 0 && static_cast<std::size_t>(slot) < factors.shape(0), "slots must lie in 0 .. factors - 1");
    require(i == 0 || slots.data()[i - 1] <= slot, "slots must not fall");
    forms.push_back({slot, words.data()[i], is_other.data()[i] != 0, is_exact.data()[i] != 0});
  }
  require(!allowed || allowed->length() == count, "allowed has one value for each row");
  const std::uint8_t* mask = allowed ? allowed->data() : nullptr;
  const std::vector<double> parts(factors.data(), factors.data() + factors.shape(0));
  const StoredLists sets[2] = {known.get(), others.get()};
  std::vector<Scored> found;
  bool sound = true;
  const auto k = static_cast<std::int64_t>(rows.shape(0));
  if (k > 0) {
    run_native([&](Watch& watch) {
      sound = best_by_words(sets, forms, parts, {stem, floor, slope}, lengths.data(), count, mask, k, found, watch);
    });
  }
  require(sound, "the lists lead outside of themselves");
  for (std::size_t i = 0; i < found.size(); ++i) {
    rows.data()[i] = found[i].row;
    scores.data()[i] = found[i].score;
  }
  return static_cast<std::int64_t>(found.size());
}

void frequencies(const StoredWordLists& known, const StoredWordLists& others, const In<std::int32_t>& known_groups,
                 const In<std::int32_t>& other_groups, const Out<std::int64_t>& df) {
  require(known.documents() == others.documents(), "both sets of lists must be of the same documents");
  const StoredLists sets[2] = {known.get(), others.get()};
  const std::int32_t* const groups[2] = {known_groups.data(), other_groups.data()};
  const std::int64_t sizes[2] = {static_cast<std::int64_t>(known_groups.shape(0)),
                                 static_cast<std::int64_t>(other_groups.shape(0))};
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = stem_frequencies(sets, groups, sizes, static_cast<std::int64_t>(df.shape(0)), df.data(), watch);
  });
  require(sound, "the lists lead outside of themselves");
}

template <class Count>
void bind_init(nb::class_<StoredWordLists>& made) {
  made.def(nb::init<std::int64_t, In<std::int64_t>, In<std::int32_t>, In<std::int64_t, 2>, In<std::uint16_t>,
                    In<Count>, In<std::int64_t>, In<std::int32_t>, In<std::int32_t>, In<std::uint16_t>>(),
           nb::arg("documents"), nb::arg("blocks").noconvert(), nb::arg("words").noconvert(),
           nb::arg("starts").noconvert(), nb::arg("rows").noconvert(),
           nb::arg("counts").noconvert(), nb::arg("bit_blocks").noconvert(), nb::arg("bit_words").noconvert(),
           nb::arg("bit_sizes").noconvert(), nb::arg("bits").noconvert());
}

}  // namespace

void bind_stored_words(nb::module_& m) {
  nb::class_<StoredWordLists> made(m, "StoredWordLists");
  bind_init<std::uint8_t>(made);
  bind_init<std::uint16_t>(made);
  bind_init<std::int32_t>(made);
  m.def("best_by_words", &best, nb::arg("known"), nb::arg("others"), nb::arg("slots").noconvert(),
        nb::arg("words").noconvert(), nb::arg("is_other").noconvert(), nb::arg("is_exact").noconvert(),
        nb::arg("factors").noconvert(), nb::arg("stem"), nb::arg("floor"), nb::arg("slope"),
        nb::arg("lengths").noconvert(), nb::arg("allowed").noconvert().none(), nb::arg("rows").noconvert(),
        nb::arg("scores").noconvert());
  m.def("stem_frequencies", &frequencies, nb::arg("known"), nb::arg("others"), nb::arg("known_groups").noconvert(),
        nb::arg("other_groups").noconvert(), nb::arg("df").noconvert());
}

}  // namespace wordferry
