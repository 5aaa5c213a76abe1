#include "lists/block_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/compiler.hpp"
#include "support/cpu.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t chunk = 64;   // rows that are looked at together
constexpr std::int32_t taken = -1;   // instead of what a row saves
constexpr float most_units = 1 << 20;
constexpr float largest_sum = 2.0e9f;

// sum + a * b; what damaged counts make of it is of no importance, only that it is defined.
WF_ALWAYS_INLINE std::int32_t wrapped(std::int32_t sum, std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                   static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

void fetch_ahead(const ListPlace& list, int width) {
  constexpr std::int64_t most = 512, line = 64;
  const std::int64_t size = std::min(list.size, most);
  for (std::int64_t i = 0; i < size; i += line / 2) prefetch_line(list.rows + i);
  for (std::int64_t i = 0; i < size; i += line / width) prefetch_line(static_cast<const char*>(list.counts) + i * width);
}

// saved[row] += count * gain. Whole numbers: four at a time are no more than loads, products and additions in memory.
template <class Count>
void add_plain(const std::uint16_t* rows, const Count* counts, std::int64_t size, std::int32_t gain,
               std::int32_t* saved) {
  const auto add = [&](std::int64_t i) {
    std::int32_t& at = saved[rows[i]];
    at = wrapped(at, static_cast<std::int32_t>(counts[i]), gain);
  };
  std::int64_t i = 0;
  for (; i + 4 <= size; i += 4) {
    add(i);
    add(i + 1);
    add(i + 2);
    add(i + 3);
  }
  for (; i < size; ++i) add(i);
}

// The same where some of the word may stay, which saves its whole cost.
template <class Count>
void add_common(const std::uint16_t* rows, const Count* counts, std::int64_t size, const ListedWord& word,
                std::int32_t gain, float units, const float* totals, std::int32_t* saved) {
  const float near = word.near * units;
  for (std::int64_t i = 0; i < size; ++i) {
    const float count = static_cast<float>(counts[i]), share = word.common * totals[rows[i]];
    const float stays = std::min((share < count ? share : count) * near, largest_sum);
    std::int32_t& at = saved[rows[i]];
    at = wrapped(wrapped(at, static_cast<std::int32_t>(counts[i]), gain), static_cast<std::int32_t>(stays) + 1, 1);
  }
}

template <class Count>
void add_list(const ListPlace& list, const ListedWord& word, float units, const float* totals, std::int32_t* saved) {
  const Count* const counts = static_cast<const Count*>(list.counts);
  const auto gain = static_cast<std::int32_t>(std::ceil(word.gain * units));
  if (word.common == 0.0f) {
    add_plain(list.rows, counts, list.size, gain, saved);
  } else {
    add_common(list.rows, counts, list.size, word, gain, units, totals, saved);
  }
}

// Whether some row of a chunk saves so much that its bound does not exceed c_max - need.
WF_CLONES
bool any_enough(const std::int32_t* saved, const float* totals, float need) {
  int found = 0;
  for (std::int64_t i = 0; i < chunk; ++i) found |= static_cast<float>(saved[i]) >= need * totals[i] ? 1 : 0;
  return found != 0;
}

}  // namespace

bool find_lists(const StoredLists& stored, std::int64_t block, const ListedWords& words, std::vector<ListPlace>& places) {
  const Lists<void>& lists = stored.lists;
  const std::int64_t first = lists.blocks[block], last = lists.blocks[block + 1];
  if (first < 0 || first > last || last > lists.word_count) return false;
  const std::int32_t* at = lists.words + first;
  const std::int32_t* const end = lists.words + last;
  places.clear();
  for (std::size_t i = 0; i < words.words().size(); ++i) {
    const std::int32_t word = words.words()[i].word;
    at = std::lower_bound(at, end, word);
    if (at == end) break;
    if (*at != word) continue;
    const std::int64_t place = at - lists.words, begin = lists.starts[place], finish = lists.starts[place + 1];
    if (begin < 0 || finish < begin || finish > lists.stored || finish - begin > list_block_rows) return false;
    const char* const counts = static_cast<const char*>(lists.counts) + begin * stored.width;
    places.push_back({lists.rows + begin, counts, finish - begin, i});
  }
  return true;
}

ListedWords::ListedWords(const TouchedQuery& query) {
  for (const std::int32_t word : query.words()) {
    const TouchedWord& one = query.touched(word);
    words_.push_back({word, one.near, query.c_max() - one.near, one.mass});
  }
  std::sort(words_.begin(), words_.end(), [](const ListedWord& a, const ListedWord& b) { return a.word < b.word; });
}

ListedWords::ListedWords(const std::vector<ListedWords>& queries) {
  for (const ListedWords& one : queries) words_.insert(words_.end(), one.words_.begin(), one.words_.end());
  std::sort(words_.begin(), words_.end(), [](const ListedWord& a, const ListedWord& b) { return a.word < b.word; });
  std::size_t kept = 0;
  for (const ListedWord& one : words_) {
    if (kept > 0 && words_[kept - 1].word == one.word) {
      words_[kept - 1].common = std::max(words_[kept - 1].common, one.common);
    } else {
      words_[kept++] = one;
    }
  }
  words_.resize(kept);
}

void ListedWords::let_stay(float mass) {
  for (ListedWord& one : words_) {
    if (one.common == 0.0f || one.common < mass) continue;
    one.gain += one.near;
    one.common = 0.0f;
  }
}

BlockSums::BlockSums()
    : saved_(static_cast<std::size_t>(list_block_rows), 0), padded_(static_cast<std::size_t>(list_block_rows), 0.0f) {}

BlockSums& BlockSums::of_this_thread() {
  static thread_local BlockSums sums;
  return sums;
}

std::int64_t BlockSums::add(const SearchedPart& part, std::int64_t block, const ListedWords& words, float c_max, Watch& watch) {
  static thread_local std::vector<ListPlace> places;
  const std::int64_t begin = block * list_block_rows;
  rows_ = std::min(list_block_rows, part.bags.rows - begin);
  start_ = part.start + begin;
  allowed_ = part.allowed == nullptr ? nullptr : part.allowed + begin;
  totals_ = part.bags.totals + begin;
  if (rows_ < list_block_rows) {  // a damaged list may name any row that 16 bits can say
    std::fill(std::copy(totals_, totals_ + rows_, padded_.begin()), padded_.end(), 0.0f);
    totals_ = padded_.data();
  }
  // A sum stays below 2^31: no row saves more than all of its words at c_max, each rounded up.
  const float room = largest_sum / (part.bags.largest_total + 1.0f) - 2.0f;
  units_ = c_max > 0.0f ? std::clamp(room, 1.0f, most_units) / c_max : 1.0f;
  if (!find_lists(part.lists, block, words, places)) return -1;
  std::int64_t visited = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + 2 < places.size()) fetch_ahead(places[i + 2], part.lists.width);
    const ListedWord& word = words.words()[places[i].word];
    if (part.lists.width == 1) add_list<std::uint8_t>(places[i], word, units_, totals_, saved_.data());
    if (part.lists.width == 2) add_list<std::uint16_t>(places[i], word, units_, totals_, saved_.data());
    if (part.lists.width == 4) add_list<std::int32_t>(places[i], word, units_, totals_, saved_.data());
    visited += places[i].size;
    if ((i & 63) == 0) watch.check();
  }
  return visited;
}

float BlockSums::bound(std::int64_t row, float c_max) const {
  const float total = totals_[row];
  if (!(total > 0.0f)) return std::numeric_limits<float>::infinity();
  return c_max - static_cast<float>(saved_[static_cast<std::size_t>(row)]) / (total * units_);
}

void BlockSums::take_lowest(float c_max, std::size_t count, std::vector<NearRow>& rows) {
  rows.clear();
  float need = -std::numeric_limits<float>::infinity();
  for (std::int64_t low = 0; low < rows_; low += chunk) {
    const bool full = rows.size() == count;
    if (full && low + chunk <= rows_ && !any_enough(saved_.data() + low, totals_ + low, need)) continue;
    for (std::int64_t row = low; row < std::min(low + chunk, rows_); ++row) {
      const NearRow one{bound(row, c_max), row};
      if (!allowed(row) || (rows.size() == count && !nearer(one, rows.front()))) continue;
      if (rows.size() == count) {
        std::pop_heap(rows.begin(), rows.end(), nearer);
        rows.pop_back();
      }
      rows.push_back(one);
      std::push_heap(rows.begin(), rows.end(), nearer);
      if (rows.size() == count) need = (c_max - rows.front().distance) * units_;
    }
  }
  for (NearRow& one : rows) {
    saved_[static_cast<std::size_t>(one.row)] = taken;
    one.row += start_;
  }
}

void BlockSums::collect(float c_max, float limit, std::vector<NearRow>& rows) const {
  const bool everything = limit == std::numeric_limits<float>::infinity();
  const float need = (c_max - limit) * units_;
  for (std::int64_t low = 0; low < rows_; low += chunk) {
    if (!everything && low + chunk <= rows_ && !any_enough(saved_.data() + low, totals_ + low, need)) continue;
    for (std::int64_t row = low; row < std::min(low + chunk, rows_); ++row) {
      if (saved_[static_cast<std::size_t>(row)] == taken || !allowed(row)) continue;
      const float found = bound(row, c_max);
      if (found <= limit) rows.push_back({found, start_ + row});
    }
  }
}

void BlockSums::clear() { std::fill(saved_.begin(), saved_.end(), 0); }

}  // namespace wordferry
