#include "lists/related_lists.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

namespace wordferry {

namespace {

// The sums of one block. A damaged list may name a row behind the last one, so there is room for all that 16 bits can say.
struct Sums {
  std::vector<float> saved, totals;
  WholeList whole;

  Sums() : saved(static_cast<std::size_t>(list_block_rows), 0.0f), totals(saved) {}
};

// Adds what the rows of one word save, and returns how many there are.
std::int64_t add_word(const ListedRows& list, int width, std::int64_t groups, float near, float gain, float common,
                      Sums& sums) {
  float* const saved = sums.saved.data();
  if (common == 0.0f) {
    each_listed(list, width, [&](std::uint16_t row, std::int32_t count) { saved[row] += static_cast<float>(count) * gain; });
    if (list.bits != nullptr) each_bit(list.bits, groups, [&](std::int64_t row) { saved[row] += gain; });
    return list.bits != nullptr ? list.present : list.size;
  }
  // What stays depends on the whole count.
  sums.whole.read(list, width, groups);
  for (std::size_t i = 0; i < sums.whole.rows().size(); ++i) {
    const std::uint16_t row = sums.whole.rows()[i];
    const auto count = static_cast<float>(sums.whole.counts()[i]);
    saved[row] += count * (gain + near) - std::max(count - common * sums.totals[row], 0.0f) * near;
  }
  return sums.whole.size();
}

std::int64_t add_block(const StoredLists& stored, std::int64_t block, const TouchedWords& touched, Sums& sums,
                       Watch& watch) {
  BlockLists lists(stored, block);
  if (!lists.sound()) return -1;
  std::int64_t visited = 0;
  ListedRows list;
  for (std::int64_t t = 0; t < touched.count; ++t) {
    if ((t & 63) == 0) watch.check();
    if (!lists.find(touched.words[t], list)) return -1;
    visited += add_word(list, stored.width, lists.groups(), touched.near[t], touched.gain[t], touched.common[t], sums);
  }
  return visited;
}

}  // namespace

std::int64_t list_bounds(const StoredLists& lists, const TouchedWords& touched, const float* totals, std::int64_t rows,
                         float rest, float* out, int threads, Watch& watch) {
  std::atomic<std::int64_t> visited{0};
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t block, int) {
    Sums sums;
    const std::int64_t begin = block * list_block_rows, end = std::min(begin + list_block_rows, rows);
    std::copy(totals + begin, totals + end, sums.totals.begin());
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
