#include "stored/row_sums.hpp"

#include <algorithm>
#include <atomic>

namespace wordferry {

namespace {

// The largest of some words, so that all of them are checked at once.
std::int64_t largest_word(const std::uint16_t* words, std::int64_t count) {
  std::uint16_t largest = 0;
  for (std::int64_t k = 0; k < count; ++k) largest = words[k] > largest ? words[k] : largest;
  return largest;
}

std::int64_t largest_word(const std::int32_t* words, std::int64_t count) {
  std::uint32_t largest = 0;  // a negative number becomes a very large one
  for (std::int64_t k = 0; k < count; ++k) {
    const auto word = static_cast<std::uint32_t>(words[k]);
    largest = word > largest ? word : largest;
  }
  return largest;
}

// Whether some rows stay inside of the arrays and have only words below `word_count`.
template <class Word>
bool rows_fit(const StoredBags& bags, const Word* words, std::int64_t first, std::int64_t last,
              std::int64_t word_count) {
  const std::int64_t begin = bags.indptr[first], end = bags.indptr[last];
  bool fits = begin >= 0 && end <= bags.stored;
  for (std::int64_t row = first; row < last; ++row) fits &= bags.indptr[row] <= bags.indptr[row + 1];
  return fits && (begin == end || largest_word(words + begin, end - begin) < word_count);
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

}  // namespace

bool add_row_sums(const StoredBags& bags, const double* weights, std::int64_t word_count, bool squared,
                  const Repeats& repeats, double* sums, int threads, Watch& watch) {
  constexpr std::int64_t block_rows = 1 << 10;
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t first = block * block_rows, last = std::min(first + block_rows, bags.rows);
    watch.check();
    bags.typed([&](const auto* words, const auto* counts) {
      if (!rows_fit(bags, words, first, last, word_count)) {
        sound = false;
        return;
      }
      const auto plain = [&](std::int64_t k, std::int64_t) {
        return static_cast<double>(counts[k]) * weights[words[k]];
      };
      const auto repeated = [&](std::int64_t k, std::int64_t row) {
        return repeats.times(static_cast<std::int64_t>(counts[k]), row) * weights[words[k]];
      };
      const auto add = [&](const auto& value) {
        if (!squared) return add_in_order(bags.indptr, first, last, sums, value);
        add_in_order(bags.indptr, first, last, sums, [&](std::int64_t k, std::int64_t row) {
          const double one = value(k, row);
          return one * one;
        });
      };
      if (repeats.growth == Growth::counts) {
        add(plain);
      } else {
        add(repeated);
      }
    });
  };
  for_blocks((bags.rows + block_rows - 1) / block_rows, threads, body, watch);
  return sound;
}

}  // namespace wordferry
