#include "stored/stored.hpp"

#include "support/at.hpp"

namespace wordferry {

namespace {

// Where a word stands among rising words, or null. No step is a guess of the processor, so that it can look for several
// words at a time.
const std::int32_t* seek(const std::int32_t* begin, const std::int32_t* end, std::int32_t word) {
  if (begin == end) return nullptr;
  for (std::ptrdiff_t left = end - begin; left > 1;) {
    const std::ptrdiff_t half = left / 2;
    begin += begin[half - 1] < word ? half : 0;
    left -= half;
  }
  return *begin == word ? begin : nullptr;
}

}  // namespace

WordTable word_table(const std::int32_t* begin, const std::int32_t* end) {
  constexpr std::int64_t together = 64, most = 16;  // numbers of the table for each 64 words
  WordTable table;
  if (begin == end || *begin < 0 || end[-1] / together > (end - begin) / together * most + most) return table;
  for (const std::int32_t* word = begin; word < end; ++word) {
    if (word > begin && *word <= word[-1]) return {};
    const auto place = at(*word / together);
    while (table.size() <= place) table.push_back({0, static_cast<std::uint32_t>(word - begin)});
    table[place].marks |= std::uint64_t{1} << *word % together;
  }
  return table;
}

BlockLists::BlockLists(const StoredLists& stored, std::int64_t block)
    : stored_(stored), table_(stored.tables[block]),
      groups_(groups_for(std::min(list_block_rows, stored.row_count - block * list_block_rows))) {
  const std::int64_t first = stored.blocks[block], last = stored.blocks[block + 1];
  const std::int64_t bit_first = stored.bit_blocks[block], bit_last = stored.bit_blocks[block + 1];
  require_inside(first >= 0 && first <= last && last <= stored.word_count);
  require_inside(bit_first >= 0 && bit_first <= bit_last && bit_last <= stored.bit_word_count);
  constexpr std::int64_t full = groups_for(list_block_rows) * group_numbers;  // all blocks before this one are
  first_bits_ = bit_first * full;
  require_inside(first_bits_ + (bit_last - bit_first) * groups_ * group_numbers <= stored.bit_numbers);
  begin_ = stored.words + first;
  end_ = stored.words + last;
  bit_begin_ = stored.bit_words + bit_first;
  bit_end_ = stored.bit_words + bit_last;
}

// The place of a word among those with a list, or -1.
std::int64_t BlockLists::list_of(std::int32_t word) const {
  if (table_.empty()) {
    const std::int32_t* const found = seek(begin_, end_, word);
    return found == nullptr ? -1 : found - stored_.words;
  }
  const auto place = at(word) / 64;
  if (word < 0 || place >= table_.size()) return -1;
  const WordMarks& some = table_[place];
  const std::uint64_t mark = std::uint64_t{1} << word % 64;
  if ((some.marks & mark) == 0) return -1;
  return begin_ - stored_.words + some.before + std::popcount(some.marks & (mark - 1));
}

BlockLists::Places BlockLists::places(std::int32_t word) const {
  const std::int64_t list = list_of(word);
  const std::int32_t* const bits = seek(bit_begin_, bit_end_, word);
  if (list >= 0) prefetch_line(stored_.starts + 2 * list);
  return {list, bits == nullptr ? -1 : bits - stored_.bit_words};
}

ListedRows BlockLists::read(const Places& places) const {
  ListedRows found;
  if (places.list >= 0) {
    const std::int64_t* const at = stored_.starts + 2 * places.list;
    const std::int64_t begin = at[0], first = at[1], finish = at[2], last = at[3];
    require_inside(begin >= 0 && finish >= begin && finish <= stored_.stored && finish - begin <= list_block_rows);
    require_inside(first >= 0 && last >= first && last <= stored_.counted && last - first <= finish - begin);
    found.rows = stored_.rows + begin;
    found.size = finish - begin;
    found.once = found.size - (last - first);
    found.counts = static_cast<const char*>(stored_.counts) + first * stored_.width;
  }
  if (places.bits >= 0) {
    const std::int64_t place = places.bits - (bit_begin_ - stored_.bit_words);
    found.bits = stored_.bits + first_bits_ + place * groups_ * group_numbers;
    found.present = stored_.bit_sizes[places.bits];
    require_inside(found.present >= 0 && found.present <= list_block_rows);
  }
  return found;
}

}  // namespace wordferry
