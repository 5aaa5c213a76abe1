#include "lists/related_lists.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

namespace wordferry {

namespace {

// saved[row] += what one word's list saves. The two loops differ only in whether some of the mass may stay.
template <class Count>
void add_list(const std::uint16_t* rows, const Count* counts, std::int64_t size, float near, float gain, float common,
              const float* totals, float* saved) {
  if (common == 0.0f) {
    for (std::int64_t i = 0; i < size; ++i) saved[rows[i]] += static_cast<float>(counts[i]) * gain;
    return;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const float count = static_cast<float>(counts[i]);
    saved[rows[i]] += count * (gain + near) - std::max(count - common * totals[rows[i]], 0.0f) * near;
  }
}

template <class Count>
std::int64_t add_block(const Lists<Count>& lists, std::int64_t block, const TouchedWords& touched, const float* totals,
                       float* saved, Watch& watch) {
  const std::int64_t first = lists.blocks[block], last = lists.blocks[block + 1];
  if (first < 0 || first > last || last > lists.word_count) return -1;
  const std::int32_t* at = lists.words + first;
  const std::int32_t* const end = lists.words + last;
  std::int64_t visited = 0;
  for (std::int64_t t = 0; t < touched.count && at < end; ++t) {
    at = std::lower_bound(at, end, touched.words[t]);
    if (at == end || *at != touched.words[t]) continue;
    const std::int64_t place = at - lists.words;
    const std::int64_t begin = lists.starts[place], finish = lists.starts[place + 1];
    if (begin < 0 || finish < begin || finish > lists.stored || finish - begin > list_block_rows) return -1;
    const std::int64_t size = finish - begin;
    add_list(lists.rows + begin, lists.counts + begin, size, touched.near[t], touched.gain[t], touched.common[t], totals,
             saved);
    visited += size;
    if ((t & 63) == 0) watch.check();
  }
  return visited;
}

}  // namespace

template <class Count>
std::int64_t list_bounds(const Lists<Count>& lists, const TouchedWords& touched, const float* totals, std::int64_t rows,
                         float rest, float* out, int threads, Watch& watch) {
  std::atomic<std::int64_t> visited{0};
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t block, int) {
    // A damaged list may name a row behind the last one of its block, so there is room for all that 16 bits can say.
    std::vector<float> saved(static_cast<std::size_t>(list_block_rows), 0.0f);
    std::vector<float> sums(static_cast<std::size_t>(list_block_rows), 0.0f);
    const std::int64_t begin = block * list_block_rows, end = std::min(begin + list_block_rows, rows);
    std::copy(totals + begin, totals + end, sums.begin());
    const std::int64_t found = add_block(lists, block, touched, sums.data(), saved.data(), watch);
    if (found < 0) sound = false;
    visited += found;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::size_t at = static_cast<std::size_t>(row - begin);
      out[row] = sums[at] > 0.0f ? rest - saved[at] / sums[at] : std::numeric_limits<float>::infinity();
    }
  };
  for_blocks(lists.block_count, threads, body, watch);
  return sound ? visited.load() : -1;
}

template std::int64_t list_bounds(const Lists<std::uint8_t>&, const TouchedWords&, const float*, std::int64_t, float,
                                  float*, int, Watch&);
template std::int64_t list_bounds(const Lists<std::uint16_t>&, const TouchedWords&, const float*, std::int64_t, float,
                                  float*, int, Watch&);
template std::int64_t list_bounds(const Lists<std::int32_t>&, const TouchedWords&, const float*, std::int64_t, float,
                                  float*, int, Watch&);

}  // namespace wordferry
