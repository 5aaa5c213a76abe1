// What moving every document onto a query costs, summed up over inverted lists.
#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "stored/bit_sums.hpp"
#include "stored/views.hpp"
#include "support/at.hpp"

namespace wordferry {

namespace {

// The sums of one block.
struct Sums {
  std::vector<float> saved = std::vector<float>(at(list_block_rows), 0.0f);
  BlockRows rows;
  std::vector<CostedBits> bits;
};

// Adds what the list of one word saves, and returns how many rows have the word. What its bits save is added later, as
// if every row had the word once; the list then adds what more there is.
std::int64_t add_list(const ListedRows& list, int width, float near, float gain, float common, Sums& sums) {
  float* const saved = sums.saved.data();
  const float* const totals = sums.rows.totals;
  const std::int64_t once = list.bits != nullptr ? 1 : 0;
  const auto before = static_cast<float>(once);
  const auto counted = [&](std::uint16_t row, std::int32_t count) {
    return static_cast<float>(sums.rows.repeats.times(once + count, row)) - before;
  };
  if (common == 0.0f) {
    each_listed(list, width, [&](std::uint16_t row, std::int32_t count) { saved[row] += counted(row, count) * gain; });
  } else {
    each_listed(list, width, [&](std::uint16_t row, std::int32_t count) {
      const float share = common * totals[row], more = counted(row, count);
      const float stays = std::min(before + more, share) - std::min(before, share);
      saved[row] += more * gain + stays * near;
    });
  }
  if (list.bits == nullptr) return list.size;
  sums.bits.push_back({list.bits, gain, near, common});
  return list.present;
}

// out[row] = rest - (what the touched words save) / (what the row's words count): the cost of moving the document onto
// the query when an untouched word costs `rest`. Rows without words get infinity. And how many entries of lists were
// visited. Touched are the words, rising, that the query has or is related to: `near` is the cost of the nearest word
// of the query that one may move to, `gain` how much less that is than `rest`, `common` the mass that the query has of
// this very word and that may stay, or 0.
std::pair<Made<float>, std::int64_t> list_bounds(const StoredWordLists& view, const In<std::int32_t>& words,
                                                 const In<float>& near, const In<float>& gain, const In<float>& common,
                                                 const In<float>& totals, const RepeatedWords& repeated, float rest,
                                                 int threads) {
  require(near.length() == words.length() && gain.length() == words.length() && common.length() == words.length(),
          "near, gain and common have one value for each touched word");
  require(view.lists.row_count == totals.length(), "totals has one value for each document of the lists");
  require_rising(words, "touched words must rise");
  const Repeats repeats = repeated.get(totals.length());
  const StoredLists& lists = view.lists;
  std::atomic<std::int64_t> visited{0};
  auto out = make_array(0.0f, totals.length());
  run_blocks(lists.block_count, threads, [&](std::int64_t block, int, Watch& watch) {
    const std::int64_t begin = block * list_block_rows, rows = std::min(list_block_rows, lists.row_count - begin);
    Sums sums;
    sums.rows.begin(totals.data(), repeats, begin, rows);
    const BlockLists listed(lists, block);
    std::int64_t here = 0;
    for (std::int64_t t = 0; t < words.length(); ++t) {
      if ((t & 63) == 0) watch.check();
      here +=
          add_list(listed.find(words.data()[t]), lists.width, near.data()[t], gain.data()[t], common.data()[t], sums);
    }
    visited += here;
    for (std::int64_t group = 0; group < listed.groups(); ++group) {
      if ((group & 15) == 0) watch.check();
      const std::int64_t row = group * group_rows;
      add_bits(sums.bits.data(), sums.bits.size(), group, sums.rows.totals + row, sums.saved.data() + row);
    }
    float* const bounds = out.data() + begin;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float total = sums.rows.totals[row], saved = sums.saved[at(row)];
      bounds[row] = total > 0.0f ? rest - saved / total : std::numeric_limits<float>::infinity();
    }
  });
  return {std::move(out), visited.load()};
}

}  // namespace

void bind_list_bounds(nb::module_& m) {
  m.def("list_bounds", &list_bounds, "lists"_a, "touched"_in, "near"_in, "gain"_in, "common"_in, "totals"_in,
        "repeats"_a, "rest"_a, "threads"_a, "For each row the rest less what touched words save, and entries visited.");
}

}  // namespace wordferry
