// Inverted lists as an index stores them: for each word the rows that have it, by blocks of 65,536 rows, so that what
// is summed up over a block stays in the cache and a row needs 16 bits.
//
// A list names rows that have the word once, then rows that have it more often, with their counts. Of a word that many
// rows of a block have, there is a bit for each row instead; its list then holds only what is left: the rows that have
// it more than once, and how many times more. So the count of a row is the sum of what its bit and its list say.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace wordferry {

constexpr std::int64_t list_block_rows = 1 << 16;

// Bits lie in numbers of 16, and are made for whole groups of 512 rows.
constexpr std::int64_t number_rows = 16, group_rows = 512, group_numbers = group_rows / number_rows;

// Rounded up; also of as many rows as a number can say, which a caller may say.
constexpr std::int64_t groups_for(std::int64_t rows) { return rows > 0 ? (rows - 1) / group_rows + 1 : 0; }
constexpr std::int64_t blocks_for(std::int64_t rows) { return rows > 0 ? (rows - 1) / list_block_rows + 1 : 0; }

// What one block says of one word.
struct ListedRows {
  const std::uint16_t* rows = nullptr;
  std::int64_t size = 0;
  std::int64_t once = 0;         // rows with a count of 1; they ascend, and so do the others
  const void* counts = nullptr;  // of the others
  const std::uint16_t* bits = nullptr;
  std::int64_t present = 0;  // rows that have a bit
};

// Where the words of one block stand: 64 words together have a mark each, and how many words of the block come before
// them. A search in the rising words themselves would wait for memory at every step.
struct WordMarks {
  std::uint64_t marks = 0;
  std::uint32_t before = 0;
};
using WordTable = std::vector<WordMarks>;

// The table of some rising words; empty where they are too few for their size, or do not rise.
WordTable word_table(const std::int32_t* begin, const std::int32_t* end);

struct StoredLists {
  const std::int64_t* blocks;  // where the words of each block begin; block_count + 1
  const std::int32_t* words;   // of all blocks, rising within a block
  const std::int64_t* starts;  // where the list of each word begins, and where its counts do; 2 * (words + 1)
  const std::uint16_t* rows;   // within the block
  const void* counts;
  int width;                       // bytes of a count: 1, 2 or 4
  const std::int64_t* bit_blocks;  // the same for words with bits
  const std::int32_t* bit_words;
  const std::int32_t* bit_sizes;  // how many bits are set
  const std::uint16_t* bits;
  std::int64_t block_count, word_count, stored, counted, bit_word_count, bit_numbers;
  std::int64_t row_count;
  const std::vector<WordTable>* tables;  // one for each block
};

// The lists of one block.
class BlockLists {
 public:
  BlockLists(const StoredLists& stored, std::int64_t block);

  // False when the lists lead outside of themselves, which only damaged ones do; nothing may be asked for then.
  bool sound() const { return sound_; }
  std::int64_t groups() const { return groups_; }

  // What the block has of a word, nothing where it does not have it. False when its list leads outside.
  bool find(std::int32_t word, ListedRows& found) const { return read(places(word), found); }

  // The same in two steps: memory is asked for in the first one.
  struct Places {
    std::int64_t list, bits;  // -1 for none
  };
  Places places(std::int32_t word) const;
  bool read(const Places& places, ListedRows& found) const;

 private:
  const StoredLists& stored_;
  std::int64_t list_of(std::int32_t word) const;

  const WordTable* table_ = nullptr;
  const std::int32_t *begin_ = nullptr, *end_ = nullptr, *bit_begin_ = nullptr, *bit_end_ = nullptr;
  std::int64_t groups_, first_bits_ = 0, first_bit_word_ = 0;
  bool sound_ = false;
};

// Calls use(row) for each row that has its bit set, rising.
template <class Use>
void each_bit(const std::uint16_t* bits, std::int64_t groups, Use&& use) {
  for (std::int64_t number = 0; number < groups * group_numbers; ++number) {
    for (auto left = static_cast<std::uint32_t>(bits[number]); left != 0; left &= left - 1) {
      use(number * number_rows + std::countr_zero(left));
    }
  }
}

// Calls use(row, count) for each row of a list.
template <class Count, class Use>
void each_listed_as(const ListedRows& list, Use&& use) {
  const Count* const counts = static_cast<const Count*>(list.counts);
  for (std::int64_t i = 0; i < list.once; ++i) use(list.rows[i], 1);
  for (std::int64_t i = list.once; i < list.size; ++i) {
    use(list.rows[i], static_cast<std::int32_t>(counts[i - list.once]));
  }
}

template <class Use>
void each_listed(const ListedRows& list, int width, Use&& use) {
  if (width == 1) each_listed_as<std::uint8_t>(list, use);
  if (width == 2) each_listed_as<std::uint16_t>(list, use);
  if (width == 4) each_listed_as<std::int32_t>(list, use);
}

}  // namespace wordferry
