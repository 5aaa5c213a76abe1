#include "nearest/all_bounds.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "stored/bit_sums.hpp"

namespace wordferry {

namespace {

// The sums of one block. A damaged list may name a row behind the last one, so there is room for all that 16 bits can
// say.
struct Sums {
  std::vector<float> saved, totals;
  std::vector<double> room;
  std::vector<CostedBits> bits;
  Repeats repeats;

  Sums(const float* all_totals, const Repeats& all_repeats, std::int64_t begin, std::int64_t end)
      : saved(static_cast<std::size_t>(list_block_rows), 0.0f), totals(saved), repeats(all_repeats) {
    std::copy(all_totals + begin, all_totals + end, totals.begin());
    if (repeats.growth != Growth::saturation) return;
    room.assign(saved.size(), 0.0);
    std::copy(all_repeats.room + begin, all_repeats.room + end, room.begin());
    repeats.room = room.data();
  }
};

// Adds what the list of one word saves, and returns how many rows have the word. What its bits save is added later, as
// if every row had the word once; the list then adds what more there is.
std::int64_t add_list(const ListedRows& list, int width, float near, float gain, float common, Sums& sums) {
  float* const saved = sums.saved.data();
  const float* const totals = sums.totals.data();
  const std::int64_t once = list.bits != nullptr ? 1 : 0;
  const auto before = static_cast<float>(once);
  const auto counted = [&](std::uint16_t row, std::int32_t count) {
    return static_cast<float>(sums.repeats.times(once + count, row)) - before;
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
  if (!lists.sound()) return -1;
  std::int64_t visited = 0;
  ListedRows list;
  for (std::int64_t t = 0; t < touched.count; ++t) {
    if ((t & 63) == 0) watch.check();
    if (!lists.find(touched.words[t], list)) return -1;
    visited += add_list(list, stored.width, touched.near[t], touched.gain[t], touched.common[t], sums);
  }
  for (std::int64_t group = 0; group < lists.groups(); ++group) {
    if ((group & 15) == 0) watch.check();
    const std::int64_t row = group * group_rows;
    add_bits(sums.bits.data(), sums.bits.size(), group, sums.totals.data() + row, sums.saved.data() + row);
  }
  return visited;
}

}  // namespace

std::int64_t list_bounds(const StoredLists& lists, const TouchedWords& touched, const float* totals, std::int64_t rows,
                         const Repeats& repeats, float rest, float* out, int threads, Watch& watch) {
  std::atomic<std::int64_t> visited{0};
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t begin = block * list_block_rows, end = std::min(begin + list_block_rows, rows);
    Sums sums(totals, repeats, begin, end);
    const std::int64_t found = add_block(lists, block, touched, sums, watch);
    if (found < 0) sound = false;
    visited += found;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::size_t at = static_cast<std::size_t>(row - begin);
      const float total = sums.totals[at];
      out[row] = total > 0.0f ? rest - sums.saved[at] / total : std::numeric_limits<float>::infinity();
    }
  };
  for_blocks(lists.block_count, threads, body, watch);
  return sound ? visited.load() : -1;
}

}  // namespace wordferry
