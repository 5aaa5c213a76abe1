// What documents weigh: sums over the words of each row of bags.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lists/repeats.hpp"
#include "support/pool.hpp"

namespace wordferry {

// Bags of words by row, as they are mapped from files: every offset and word is checked when it is used.
template <class Word, class Count>
struct BagRows {
  const std::int64_t* indptr;
  const Word* words;
  const Count* counts;
  std::int64_t rows, stored;
};

// The largest of some words, for a check of all of them at once.
std::int64_t largest_word(const std::uint16_t* words, std::int64_t count);
std::int64_t largest_word(const std::int32_t* words, std::int64_t count);

// Whether some rows stay inside of the arrays and name only words below `word_count`.
template <class Word, class Count>
bool rows_fit(const BagRows<Word, Count>& bags, std::int64_t first, std::int64_t last, std::int64_t word_count) {
  const std::int64_t begin = bags.indptr[first], end = bags.indptr[last];
  bool fits = begin >= 0 && end <= bags.stored;
  for (std::int64_t row = first; row < last; ++row) fits &= bags.indptr[row] <= bags.indptr[row + 1];
  return fits && (begin == end || largest_word(bags.words + begin, end - begin) < word_count);
}

// sums[row] += value(k, row) for each entry k of the row, one after the other. Two rows at a time, so that neither sum
// waits for the other.
template <class Value>
void add_in_order(const std::int64_t* indptr, std::int64_t first, std::int64_t last, double* sums, Value&& value) {
  for (std::int64_t row = first; row < last; row += 2) {
    const std::int64_t other = std::min(row + 1, last - 1);
    std::int64_t k = indptr[row], l = indptr[other];
    const std::int64_t stop = indptr[row + 1], end = row < other ? indptr[other + 1] : l;
    double one = sums[row], two = sums[other];
    for (; k < stop && l < end; ++k, ++l) {
      one += value(k, row);
      two += value(l, other);
    }
    for (; k < stop; ++k) one += value(k, row);
    for (; l < end; ++l) two += value(l, other);
    sums[other] = two;
    sums[row] = one;
  }
}

// sums[row] += weights[word] * (what the word counts) for each word of the row, one after the other, or its square.
// False when a row leads outside of the arrays or names a word that has no weight.
template <class Word, class Count>
bool add_row_sums(const BagRows<Word, Count>& bags, const double* weights, std::int64_t word_count, bool squared,
                  const Repeats& repeats, double* sums, int threads, Watch& watch) {
  constexpr std::int64_t block_rows = 1 << 10;
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t first = block * block_rows, last = std::min(first + block_rows, bags.rows);
    watch.check();
    if (!rows_fit(bags, first, last, word_count)) {
      sound = false;
      return;
    }
    const auto add = [&](auto&& value) { add_in_order(bags.indptr, first, last, sums, value); };
    const auto plain = [&](std::int64_t k, std::int64_t) {
      return static_cast<double>(bags.counts[k]) * weights[bags.words[k]];
    };
    const auto repeated = [&](std::int64_t k, std::int64_t row) {
      return repeats.times(static_cast<std::int64_t>(bags.counts[k]), row) * weights[bags.words[k]];
    };
    const auto square = [](double value) { return value * value; };
    if (repeats.growth == Growth::counts && squared) {
      add([&](std::int64_t k, std::int64_t row) { return square(plain(k, row)); });
    } else if (repeats.growth == Growth::counts) {
      add(plain);
    } else if (squared) {
      add([&](std::int64_t k, std::int64_t row) { return square(repeated(k, row)); });
    } else {
      add(repeated);
    }
  };
  for_blocks((bags.rows + block_rows - 1) / block_rows, threads, body, watch);
  return sound;
}

}  // namespace wordferry
