// Documents as an index stores them, by row and by word, with what their words count and weigh.
//
// By word there are inverted lists: the rows that have it, by blocks of 65,536 rows, so that what is summed up over a
// block stays in the cache and a row needs 16 bits. A list names rows that have the word once, then rows that have it
// more often, with their counts. Of a word that many rows of a block have, there is a bit for each row instead; its
// list then holds only what is left: the rows that have it more than once, and how many times more. So the count of a
// row is the sum of what its bit and its list say.
//
// Every offset is checked when it is used: the arrays are mapped from files, which may be damaged.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support/at.hpp"
#include "support/compiler.hpp"

namespace wordferry {

// Throws where stored arrays lead outside of themselves; a ValueError in Python.
inline void require_inside(bool inside, const char* message = "the arrays lead outside of themselves") {
  if (!inside) throw std::invalid_argument(message);
}

// Bags of words by row (CSR): whole numbers of any of the widths that files have.
struct StoredBags {
  const std::int64_t* indptr;
  const void* words;
  int word_width;  // bytes of a word: 2 (unsigned) or 4
  const void* counts;
  int count_width;  // bytes of a count: 1 or 2 (unsigned), or 4
  std::int64_t rows, stored;

  // Where the entries of a row are.
  struct Span {
    std::int64_t begin, end;
  };
  Span span(std::int64_t row) const {
    const Span found{indptr[row], indptr[row + 1]};
    require_inside(found.begin >= 0 && found.begin <= found.end && found.end <= stored);
    return found;
  }

  // Calls use(words, counts) with pointers to the first word and count of the arrays, in their types.
  template <class Use>
  void typed(Use&& use) const {
    if (word_width == 2) return by_count(static_cast<const std::uint16_t*>(words), use);
    by_count(static_cast<const std::int32_t*>(words), use);
  }

  // Calls use(words, counts, size) for a row, whose words must be below `word_count`.
  template <class Use>
  void read(std::int64_t row, std::int64_t word_count, Use&& use) const {
    const Span at = span(row);
    typed([&](const auto* all, const auto* often) {
      bool inside = true;
      for (std::int64_t k = at.begin; k < at.end; ++k) inside &= all[k] >= 0 && all[k] < word_count;
      require_inside(inside);
      use(all + at.begin, often + at.begin, at.end - at.begin);
    });
  }

  // Calls use(word, count) for each word of a row, whatever number it has.
  template <class Use>
  void each(std::int64_t row, Use&& use) const {
    const Span at = span(row);
    typed([&](const auto* all, const auto* often) {
      for (std::int64_t k = at.begin; k < at.end; ++k) {
        use(static_cast<std::int32_t>(all[k]), static_cast<std::int32_t>(often[k]));
      }
    });
  }

  // Ask for what each() is going to look at: first where the row is, some time later the row itself.
  void fetch_place(std::int64_t row) const { prefetch_line(indptr + row); }

  void fetch_row(std::int64_t row) const {
    constexpr std::int64_t line = 64;
    const auto [begin, end] = span(row);
    const char* const first = static_cast<const char*>(words) + begin * word_width;
    const std::int64_t size = std::min((end - begin) * word_width, 4 * line);
    for (std::int64_t at = 0; at < size + line; at += line) prefetch_line(first + at);
    prefetch_line(static_cast<const char*>(counts) + begin * count_width);
    prefetch_line(static_cast<const char*>(counts) + end * count_width);
  }

 private:
  template <class Word, class Use>
  void by_count(const Word* all, Use&& use) const {
    if (count_width == 1) return use(all, static_cast<const std::uint8_t*>(counts));
    if (count_width == 2) return use(all, static_cast<const std::uint16_t*>(counts));
    use(all, static_cast<const std::int32_t*>(counts));
  }
};

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

  // Without the rows that have the word once.
  ListedRows repeated() const { return {rows + once, size - once, 0, counts, bits, present}; }
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
  const WordTable* tables;  // one for each block
};

// The lists of one block.
class BlockLists {
 public:
  BlockLists(const StoredLists& stored, std::int64_t block);

  std::int64_t groups() const { return groups_; }

  // What the block has of a word, nothing where it does not have it.
  ListedRows find(std::int32_t word) const { return read(places(word)); }

  // The same in two steps: memory is asked for in the first one.
  struct Places {
    std::int64_t list, bits;  // -1 for none
  };
  Places places(std::int32_t word) const;
  ListedRows read(const Places& places) const;

 private:
  const StoredLists& stored_;
  std::int64_t list_of(std::int32_t word) const;

  const WordTable& table_;
  const std::int32_t *begin_, *end_, *bit_begin_, *bit_end_;
  std::int64_t groups_, first_bits_;
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
template <class Use>
void each_listed(const ListedRows& list, int width, Use&& use) {
  const auto typed = [&](const auto* counts) {
    for (std::int64_t i = 0; i < list.once; ++i) use(list.rows[i], 1);
    for (std::int64_t i = list.once; i < list.size; ++i) {
      use(list.rows[i], static_cast<std::int32_t>(counts[i - list.once]));
    }
  };
  if (width == 1) return typed(static_cast<const std::uint8_t*>(list.counts));
  if (width == 2) return typed(static_cast<const std::uint16_t*>(list.counts));
  typed(static_cast<const std::int32_t*>(list.counts));
}

// Asks for a list that will be read soon.
inline void fetch_list(const ListedRows& list) {
  constexpr std::int64_t most = 512, numbers = 32;  // of a line
  for (std::int64_t i = 0; i < std::min(list.size, most); i += numbers) prefetch_line(list.rows + i);
  if (list.once < list.size) prefetch_line(list.counts);
}

enum class Growth { counts, logarithm, saturation };

// 1 + ln(count).
inline double one_and_logarithm(std::int64_t count) {
  static const auto small = [] {
    std::array<double, 256> values{};
    for (std::size_t i = 1; i < values.size(); ++i) values[i] = 1.0 + std::log(static_cast<double>(i));
    return values;
  }();
  const auto place = static_cast<std::uint64_t>(count);
  return place < small.size() ? small[place] : 1.0 + std::log(static_cast<double>(count));
}

// How much a word counts that a document has more than once; one that stands there once counts 1. More of it never
// count for more than as often as they stand there.
struct Repeats {
  Growth growth = Growth::counts;
  const double* room = nullptr;  // saturation, of each row: the more there is, the later the word stops to count

  double times(std::int64_t count, std::int64_t row) const {
    const auto number = static_cast<double>(count);
    if (growth == Growth::counts || count <= 1) return number;
    return growth == Growth::logarithm ? one_and_logarithm(count) : number * (1.0 + room[row]) / (number + room[row]);
  }
};

// The weight of each word by its number; a word of weight 0 does not count.
struct WordWeights {
  const double* values;
  std::int64_t count;
};

// Some documents, by word and by row, with the sums over each of what its words count times what they weigh.
struct SearchedPart {
  StoredLists lists;
  StoredBags bags;
  const float* totals = nullptr;  // those sums in float32, or a little less where nothing but bounds is made of them
  const double* exact = nullptr;  // the sums themselves, or null where nothing needs them
  const float* norms = nullptr;   // Euclidean lengths over what the words of a row count and weigh, likewise; or null
  float mean_total = 0.0f, largest_total = 0.0f;
  float longest = 0.0f;  // no document has more words, a repeated one counted as often
  Repeats repeats = {};
  std::int64_t start = 0;         // the number of its first row among those of all parts
  const bool* allowed = nullptr;  // by row, or null
};

// What documents weigh, and how their repeated words count, for the rows of one block: as many as 16 bits can say,
// because a damaged list may name any of them.
struct BlockRows {
  const float* totals = nullptr;
  Repeats repeats = {};

  void begin(const float* all_totals, const Repeats& all_repeats, std::int64_t first, std::int64_t rows) {
    const auto padded = [rows](const auto* from, auto& to) {
      if (rows == list_block_rows) return from;
      to.assign(at(list_block_rows), 0);
      std::copy(from, from + rows, to.begin());
      return static_cast<decltype(from)>(to.data());
    };
    totals = padded(all_totals + first, totals_);
    repeats = all_repeats;
    if (repeats.growth == Growth::saturation) repeats.room = padded(all_repeats.room + first, room_);
  }

 private:
  std::vector<float> totals_;
  std::vector<double> room_;
};

// The part that a row of all belongs to.
template <class Part>
const Part& part_of(const std::vector<Part>& parts, std::int64_t row) {
  const auto after = std::upper_bound(parts.begin(), parts.end(), row,
                                      [](std::int64_t one, const Part& part) { return one < part.start; });
  return *(after - 1);
}

}  // namespace wordferry
