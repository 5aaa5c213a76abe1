#include "nearest/all_bounds.hpp"

#include <nanobind/stl/pair.h>

#include "stored/repeats_view.hpp"
#include "stored/stored_view.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

std::pair<Made<float>, std::int64_t> bounds(const StoredWordLists& view, const In<std::int32_t>& touched,
                                            const In<float>& near, const In<float>& gain, const In<float>& common,
                                            const In<float>& totals, const RepeatedWords& repeats, float rest,
                                            int threads) {
  require(near.length() == touched.length() && gain.length() == touched.length() && common.length() == touched.length(),
          "near, gain and common have one value for each touched word");
  require(view.documents() == totals.length(), "totals has one value for each document of the lists");
  const Repeats counted = repeats.get(totals.length());
  const int limit = thread_limit(threads);
  const TouchedWords query{touched.data(), near.data(), gain.data(), common.data(), touched.length()};
  const StoredLists stored = view.get();
  std::int64_t visited = 0;
  auto out = make_array(0.0f, totals.length());
  run_native([&](Watch& watch) {
    bool rises = true;
    for (std::int64_t t = 1; t < query.count; ++t) rises &= query.words[t - 1] < query.words[t];
    require(rises, "touched words must rise");
    visited = list_bounds(stored, query, totals.data(), totals.length(), counted, rest, out.data(), limit, watch);
  });
  require(visited >= 0, "the lists lead outside of themselves");
  return {std::move(out), visited};
}

}  // namespace

void bind_all_bounds(nb::module_& m) {
  m.def("list_bounds", &bounds, "lists"_a, "touched"_in, "near"_in, "gain"_in, "common"_in, "totals"_in, "repeats"_a,
        "rest"_a, "threads"_a, "For each row the rest less what touched words save, and entries visited.");
}

}  // namespace wordferry
