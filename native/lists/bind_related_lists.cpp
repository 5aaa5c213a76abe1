#include "lists/related_lists.hpp"

#include "support/bind.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

// Stored lists are mapped from a file and may be damaged: their lengths are checked here, every offset when it is used.
template <class Count>
std::int64_t bounds(const In<std::int64_t>& blocks, const In<std::int32_t>& words, const In<std::int64_t>& starts,
                    const In<std::uint16_t>& rows, const In<Count>& counts, const In<std::int32_t>& touched,
                    const In<float>& near, const In<float>& gain, const In<float>& common, const In<float>& totals,
                    float rest, const Out<float>& out, int threads) {
  require(blocks.shape(0) >= 1 && starts.shape(0) == words.shape(0) + 1, "blocks, words and starts must agree");
  require(rows.shape(0) == counts.shape(0), "one count for each row of a list");
  require(near.shape(0) == touched.shape(0) && gain.shape(0) == touched.shape(0) && common.shape(0) == touched.shape(0),
          "near, gain and common have one value for each touched word");
  require(out.shape(0) == totals.shape(0), "out has one value for each row");
  const auto block_count = static_cast<std::int64_t>(blocks.shape(0)) - 1;
  const auto row_count = static_cast<std::int64_t>(totals.shape(0));
  require(block_count == (row_count + list_block_rows - 1) / list_block_rows, "one block for each 65,536 rows");
  for (std::size_t t = 1; t < touched.shape(0); ++t) {
    require(touched.data()[t - 1] < touched.data()[t], "touched words must rise");
  }
  const Lists<Count> lists{blocks.data(), words.data(),  starts.data(),
                           rows.data(),   counts.data(), block_count,
                           static_cast<std::int64_t>(words.shape(0)), static_cast<std::int64_t>(rows.shape(0))};
  const TouchedWords query{touched.data(), near.data(), gain.data(), common.data(),
                           static_cast<std::int64_t>(touched.shape(0))};
  std::int64_t visited = 0;
  run_native([&](Watch& watch) {
    visited = list_bounds(lists, query, totals.data(), row_count, rest, out.data(), thread_limit(threads), watch);
  });
  require(visited >= 0, "the lists lead outside of themselves");
  return visited;
}

template <class Count>
void bind_bounds(nb::module_& m) {
  m.def("list_bounds", &bounds<Count>, nb::arg("blocks").noconvert(), nb::arg("words").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("rows").noconvert(), nb::arg("counts").noconvert(),
        nb::arg("touched").noconvert(), nb::arg("near").noconvert(), nb::arg("gain").noconvert(),
        nb::arg("common").noconvert(), nb::arg("totals").noconvert(), nb::arg("rest"), nb::arg("out").noconvert(),
        nb::arg("threads"));
}

}  // namespace

void bind_related_lists(nb::module_& m) {
  bind_bounds<std::uint8_t>(m);
  bind_bounds<std::uint16_t>(m);
  bind_bounds<std::int32_t>(m);
}

}  // namespace wordferry
