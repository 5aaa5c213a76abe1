#include "nearest/block_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/at.hpp"
#include "support/compiler.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t chunk = 64;      // rows that are looked at together
constexpr std::int32_t taken_out = -1;  // instead of what a row saves
constexpr float most_units = 1 << 20;
constexpr float largest_sum = 1.0e9f;
constexpr float coarse_units = 1 << 10;  // of c_max, in which bits are summed up
constexpr float shares = 1 << 14;        // of c_max, in which is summed up what may stay of a mass of 1
constexpr std::uint32_t most_gains = 0xffff;

// sum + a * b; what damaged counts make of it is of no importance, only that it is defined.
WF_ALWAYS_INLINE std::int32_t wrapped(std::int32_t sum, std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                   static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

// saved[row] += gain: four at a time are no more than loads and additions in memory.
void add_once(const std::uint16_t* rows, std::int64_t size, std::int32_t gain, std::int32_t* saved) {
  const auto add = [&](std::int64_t i) { saved[rows[i]] = wrapped(saved[rows[i]], 1, gain); };
  std::int64_t i = 0;
  for (; i + 4 <= size; i += 4) {
    add(i);
    add(i + 1);
    add(i + 2);
    add(i + 3);
  }
  for (; i < size; ++i) add(i);
}

// saved[row] += count * gain.
void add_plain(const ListedRows& list, int width, std::int32_t gain, std::int32_t* saved) {
  add_once(list.rows, list.once, gain, saved);
  each_listed(list.repeated(), width,
              [&](std::uint16_t row, std::int32_t count) { saved[row] = wrapped(saved[row], count, gain); });
}

// The same where some of the word may stay, which saves its whole cost.
void add_common(const ListedRows& list, int width, const ListedWord& word, std::int32_t gain, float units,
                const float* totals, std::int32_t* saved) {
  const float near = word.near * units;
  each_listed(list, width, [&](std::uint16_t row, std::int32_t number) {
    const float count = static_cast<float>(number), share = word.common * totals[row];
    const float stays = std::min((share < count ? share : count) * near, largest_sum);
    saved[row] = wrapped(wrapped(saved[row], number, gain), static_cast<std::int32_t>(stays) + 1, 1);
  });
}

// saved += sums * factor.
void add_sums(const GroupSums& sums, std::int32_t factor, std::int32_t* saved) {
  for (std::int64_t i = 0; i < group_rows; ++i)
    saved[i] = wrapped(saved[i], static_cast<std::int32_t>(sums[i]), factor);
}

// saved += sums * factor * totals, rounded up.
void add_shares(const GroupSums& sums, float factor, const float* totals, std::int32_t* saved) {
  for (std::int64_t i = 0; i < group_rows; ++i) {
    const float stays = std::min(static_cast<float>(sums[i]) * factor * totals[i], largest_sum);
    saved[i] = wrapped(saved[i], static_cast<std::int32_t>(stays) + 1, 1);
  }
}

// saved += what the products with the query save, rounded up: a product of 1 with the row as a unit vector saves
// `factor` times what the row weighs. Products are in `units`.
void add_cosines(const std::int32_t* products, float units, const float* norms, float factor, const float* totals,
                 std::int64_t rows, std::int32_t* saved) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float norm = norms[i] * units, product = std::max(static_cast<float>(products[i]), 0.0f);
    const float cosine = norm > 0.0f ? std::min(product / norm, 1.0f) : 0.0f;
    const float saving = std::min(cosine * factor * totals[i], largest_sum / 2.0f);
    saved[i] = wrapped(saved[i], static_cast<std::int32_t>(saving) + (product > 0.0f ? 1 : 0), 1);
  }
}

// Calls use(sums, first row) for each group of rows with the sums over some words; where all of them could be too much
// for 16 bits, for some of the words at a time.
template <class Use>
void sum_groups(const std::vector<WeighedBits>& words, std::int64_t groups, Watch& watch, Use&& use) {
  alignas(64) GroupSums sums;
  for (std::size_t first = 0; first < words.size();) {
    std::size_t last = first;
    for (std::uint32_t most = 0; last < words.size() && most + words[last].gain <= most_gains; ++last)
      most += words[last].gain;
    watch.check();
    for (std::int64_t group = 0; group < groups; ++group) {
      sum_bits(words.data() + first, last - first, group, sums);
      use(sums, group * group_rows);
    }
    first = last;
  }
}

// Never less than the value, and no more than 16 bits hold.
std::uint16_t rounded_up(float value) {
  return static_cast<std::uint16_t>(std::clamp(std::ceil(value), 0.0f, static_cast<float>(most_gains)));
}

// Whether some row of a chunk saves so much that its bound does not exceed what `need` was made of.
bool any_enough(const std::int32_t* saved, const float* totals, float need) {
  int found = 0;
  for (std::int64_t i = 0; i < chunk; ++i) found |= static_cast<float>(saved[i]) >= need * totals[i] ? 1 : 0;
  return found != 0;
}

}  // namespace

void BlockWords::find(const StoredLists& stored, std::int64_t block, const ListedWords& words) {
  lists.clear();
  bits.clear();
  places.clear();
  const BlockLists all(stored, block);
  groups = all.groups();
  for (const ListedWord& one : words.words()) places.push_back(all.places(one.word));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ListedRows rows = all.read(places[i]);
    if (rows.size > 0) lists.push_back({rows, i});
    if (rows.bits != nullptr) bits.push_back({rows, i});
  }
}

ListedWords::ListedWords(const BlendedQuery& blended, const WordWeights& weights) {
  const TouchedQuery& query = blended.words;
  std::vector<std::uint64_t> bits(at(weights.count / 64 + 1));  // of the words: quicker than sorting them
  for (const std::int32_t word : query.words()) {
    if (word < weights.count) bits[at(word / 64)] |= std::uint64_t{1} << (word % 64);
  }
  for (std::size_t i = 0; i < bits.size(); ++i) {
    for (std::uint64_t left = bits[i]; left != 0; left &= left - 1) {
      const auto word = static_cast<std::int32_t>(64 * i + at(std::countr_zero(left)));
      const auto weight = static_cast<float>(weights.values[word]);
      if (weight == 0.0f) continue;  // it does not count
      const TouchedWord& one = query.touched(word);
      const float part = one.own < 0 || blended.cosine.unit == nullptr ? 0.0f : blended.cosine.unit[one.own];
      words_.push_back(
          {word, one.near * weight, (query.c_max() - one.near) * weight, one.mass / weight, part * weight});
    }
  }
}

float ListedWords::heaviest(float c_max) const {
  float most = 0.0f;
  for (const ListedWord& one : words_) most = std::max(most, (one.near + one.gain) / c_max);
  return c_max > 0.0f && most > 0.0f ? most : 1.0f;
}

float ListedWords::largest_product() const {
  float most = 0.0f;
  for (const ListedWord& one : words_) most = std::max(most, one.product);
  return most > 0.0f ? most : 1.0f;
}

void ListedWords::let_stay(float mass) {
  for (ListedWord& one : words_) {
    if (one.common == 0.0f || one.common < mass) continue;
    one.gain += one.near;
    one.common = 0.0f;
  }
}

BlockSums& BlockSums::of_this_thread() {
  static thread_local BlockSums sums;
  return sums;
}

// A sum stays below 2^31: no row adds up more than all of its words with the largest value, each rounded up, and as
// much for what may stay.
void BlockSums::Sums::scale(float largest, float most, float longest) {
  const float room = std::clamp(most / (longest + 1.0f) - 2.0f, 1.0f, most_units);
  const float values = std::min(coarse_units, room);
  coarse = std::max(static_cast<std::int32_t>(room / (values + 1.0f)), 1);
  units = largest > 0.0f ? values * static_cast<float>(coarse) / largest : 1.0f;
}

void BlockSums::begin(const SearchedPart& part, std::int64_t block, const Scale& scale) {
  const CosineShare& cosine = scale.cosine;
  c_max_ = scale.c_max;
  const std::int64_t first = block * list_block_rows;
  norms_ = cosine.unit == nullptr || part.norms == nullptr ? nullptr : part.norms + first;
  share_ = norms_ == nullptr ? 0.0f : cosine.unshared / cosine.moved;
  rest_ = c_max_ + share_;
  scale_ = cosine.moved;
  rows_ = std::min(list_block_rows, part.bags.rows - first);
  start_ = part.start + first;
  allowed_ = part.allowed == nullptr ? nullptr : part.allowed + first;
  block_.begin(part.totals, part.repeats, first, rows_);
  const float most = norms_ == nullptr ? largest_sum : largest_sum / 2.0f;  // the other half is for products
  saved_.rows.assign(at(list_block_rows), 0);
  saved_.scale(c_max_ * scale.heaviest, most, part.longest);
  if (norms_ == nullptr) return;
  if (part.largest_total > 0.0f) {
    saved_.units = std::min(saved_.units, most / (share_ * part.largest_total) * 0.99f);
  }
  products_.rows.assign(at(list_block_rows), 0);
  products_.scale(scale.largest_product, largest_sum, part.longest);
}

void BlockSums::add(const StoredLists& stored, std::int64_t block, const ListedWords& words, Visited& visited,
                    Watch& watch) {
  constexpr double entry = 1.0, bits = 10.0;  // nanoseconds: an entry of a list, and 512 rows of a word with bits
  found_.find(stored, block, words);
  const std::vector<BlockWords::List>& lists = found_.lists;
  const int width = stored.width;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (i + 2 < lists.size()) fetch_list(lists[i + 2].rows);
    const ListedWord& word = words.words()[lists[i].word];
    const ListedRows& list = lists[i].rows;
    add_list(list, width, word.gain, word.common > 0.0f ? &word : nullptr, saved_);
    if (norms_ != nullptr && word.product > 0.0f) add_list(list, width, word.product, nullptr, products_);
    visited.entries += list.size;
    visited.nanoseconds += entry * static_cast<double>(list.size);
    if ((i & 63) == 0) watch.check();
  }
  for (const BlockWords::List& list : found_.bits) visited.entries += list.rows.present;
  visited.nanoseconds += bits * static_cast<double>(found_.groups) * static_cast<double>(found_.bits.size());
  add_gains(words, &ListedWord::gain, saved_, watch);
  add_staying(words, watch);
  if (norms_ == nullptr) return;
  add_gains(words, &ListedWord::product, products_, watch);
  add_cosines(products_.rows.data(), products_.units, norms_, share_ * saved_.units, block_.totals, rows_,
              saved_.rows.data());
}

// `gain` for each occurrence, and what may stay of a word that is `staying`. What a repeated word counts need not be
// its count.
void BlockSums::add_list(const ListedRows& list, int width, float gain, const ListedWord* staying, Sums& sums) {
  const float rounded = std::ceil(gain * sums.units);
  const bool bits = list.bits != nullptr;
  std::int32_t* const rows = sums.rows.data();
  const auto whole = static_cast<std::int32_t>(rounded);
  if (bits) staying = nullptr;
  if (block_.repeats.growth == Growth::counts) {
    if (staying == nullptr) return add_plain(list, width, whole, rows);
    return add_common(list, width, *staying, whole, sums.units, block_.totals, rows);
  }
  const std::int64_t before = bits ? 1 : 0;
  const bool plain = !bits && staying == nullptr;
  if (plain) add_once(list.rows, list.once, whole, rows);
  const float near = staying == nullptr ? 0.0f : staying->near * sums.units;
  const float common = staying == nullptr ? 0.0f : staying->common;
  each_listed(plain ? list.repeated() : list, width, [&](std::uint16_t row, std::int32_t count) {
    const auto times = static_cast<float>(block_.repeats.times(before + count, row) - static_cast<double>(before));
    const float stays = std::min(common * block_.totals[row], times) * near;
    const float sum = std::clamp(times * rounded + stays, 0.0f, largest_sum);
    rows[row] = wrapped(rows[row], static_cast<std::int32_t>(sum) + 1, 1);
  });
}

void BlockSums::add_gains(const ListedWords& words, float ListedWord::* gain, Sums& sums, Watch& watch) {
  weighed_.clear();
  const float coarse = sums.units / static_cast<float>(sums.coarse);
  for (const BlockWords::List& list : found_.bits) {
    const float value = words.words()[list.word].*gain;
    if (value > 0.0f) weighed_.push_back({list.rows.bits, rounded_up(value * coarse)});
  }
  sum_groups(weighed_, found_.groups, watch,
             [&](const GroupSums& some, std::int64_t row) { add_sums(some, sums.coarse, sums.rows.data() + row); });
}

// What stays of a word is at most the query's mass of it, whatever its count is.
void BlockSums::add_staying(const ListedWords& words, Watch& watch) {
  weighed_.clear();
  for (const BlockWords::List& list : found_.bits) {
    const ListedWord& word = words.words()[list.word];
    const float saving = word.common * word.near;
    if (saving > 0.0f && c_max_ > 0.0f) weighed_.push_back({list.rows.bits, rounded_up(saving / c_max_ * shares)});
  }
  const float factor = saved_.units * c_max_ / shares;
  sum_groups(weighed_, found_.groups, watch, [this, factor](const GroupSums& sums, std::int64_t row) {
    add_shares(sums, factor, block_.totals + row, saved_.rows.data() + row);
  });
}

float BlockSums::bound(std::int64_t row) const {
  const float total = block_.totals[row];
  if (!(total > 0.0f)) return std::numeric_limits<float>::infinity();
  return scale_ * (rest_ - static_cast<float>(saved_.rows[at(row)]) / (total * saved_.units));
}

std::vector<NearRow> BlockSums::take_lowest(std::int64_t count) {
  NearestHits lowest(count);
  float need = 0.0f;
  for (std::int64_t low = 0; low < rows_; low += chunk) {
    if (lowest.full() && low + chunk <= rows_ && !any_enough(saved_.rows.data() + low, block_.totals + low, need))
      continue;
    for (std::int64_t row = low; row < std::min(low + chunk, rows_); ++row) {
      if (lowest.full() && static_cast<float>(saved_.rows[at(row)]) < need * block_.totals[row]) continue;
      if (allowed(row)) lowest.offer(bound(row), row);
    }
    need = (rest_ - lowest.worst() / scale_) * saved_.units;
  }
  std::vector<NearRow> rows = std::move(lowest).sorted();
  for (NearRow& one : rows) {
    saved_.rows[at(one.row)] = taken_out;
    one.row += start_;
  }
  return rows;
}

void BlockSums::collect(float limit, std::vector<NearRow>& rows) const {
  const bool everything = limit == std::numeric_limits<float>::infinity();
  const float need = (rest_ - limit / scale_) * saved_.units;
  for (std::int64_t low = 0; low < rows_; low += chunk) {
    if (!everything && low + chunk <= rows_ && !any_enough(saved_.rows.data() + low, block_.totals + low, need))
      continue;
    for (std::int64_t row = low; row < std::min(low + chunk, rows_); ++row) {
      if (saved_.rows[at(row)] == taken_out || !allowed(row)) continue;
      const float found = bound(row);
      if (found <= limit) rows.push_back({found, start_ + row});
    }
  }
}

}  // namespace wordferry
