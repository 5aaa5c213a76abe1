// What moving every document onto a query costs, summed up over inverted lists.
#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "nearest/nearest.hpp"
#include "stored/bit_sums.hpp"
#include "support/at.hpp"
#include "support/pool.hpp"

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

std::int64_t add_block(const StoredLists& stored, std::int64_t block, const TouchedWords& touched, Sums& sums,
                       Watch& watch) {
  const BlockLists lists(stored, block);
  std::int64_t visited = 0;
  for (std::int64_t t = 0; t < touched.count; ++t) {
    if ((t & 63) == 0) watch.check();
    visited +=
        add_list(lists.find(touched.words[t]), stored.width, touched.near[t], touched.gain[t], touched.common[t], sums);
  }
  for (std::int64_t group = 0; group < lists.groups(); ++group) {
    if ((group & 15) == 0) watch.check();
    const std::int64_t row = group * group_rows;
    add_bits(sums.bits.data(), sums.bits.size(), group, sums.rows.totals + row, sums.saved.data() + row);
  }
  return visited;
}

}  // namespace

std::int64_t list_bounds(const StoredLists& lists, const TouchedWords& touched, const float* totals,
                         const Repeats& repeats, float rest, float* out, int threads, Watch& watch) {
  std::atomic<std::int64_t> visited{0};
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t begin = block * list_block_rows, rows = std::min(list_block_rows, lists.row_count - begin);
    Sums sums;
    sums.rows.begin(totals, repeats, begin, rows);
    visited += add_block(lists, block, touched, sums, watch);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float total = sums.rows.totals[row], saved = sums.saved[at(row)];
      out[begin + row] = total > 0.0f ? rest - saved / total : std::numeric_limits<float>::infinity();
    }
  };
  for_blocks(lists.block_count, threads, body, watch);
  return visited;
}

}  // namespace wordferry
