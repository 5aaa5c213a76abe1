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

// sums[row] += weights[word] * (what the word counts) for each word of the row, one after the other, or its square.
// False when a row leads outside of the arrays or names a word that has no weight.
template <class Word, class Count>
bool add_row_sums(const BagRows<Word, Count>& bags, const double* weights, std::int64_t word_count, bool squared,
                  const Repeats& repeats, double* sums, int threads, Watch& watch) {
  constexpr std::int64_t block_rows = 1 << 12;
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t block, int) {
    Pace pace(watch);
    const std::int64_t last = std::min((block + 1) * block_rows, bags.rows);
    for (std::int64_t row = block * block_rows; row < last; ++row) {
      const std::int64_t begin = bags.indptr[row], end = bags.indptr[row + 1];
      if (begin < 0 || end < begin || end > bags.stored) {
        sound = false;
        return;
      }
      pace.spend(2 * (end - begin) + 1);
      double sum = sums[row];
      for (std::int64_t at = begin; at < end; ++at) {
        const auto word = static_cast<std::int64_t>(bags.words[at]);
        if (word < 0 || word >= word_count) {
          sound = false;
          return;
        }
        const double value = repeats.times(static_cast<std::int64_t>(bags.counts[at]), row) * weights[word];
        sum += squared ? value * value : value;
      }
      sums[row] = sum;
    }
  };
  for_blocks((bags.rows + block_rows - 1) / block_rows, threads, body, watch);
  return sound;
}

}  // namespace wordferry
