// What documents weigh: sums over the words of each row of bags.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "lists/repeats.hpp"
#include "support/at.hpp"
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

// Costs rounded down to multiples of a step, so that those of the usual words stay in the nearest cache.
struct CostSteps {
  std::vector<std::uint16_t> steps;
  double step = 0.0;

  CostSteps(const float* costs, std::int64_t count) : steps(at(count)) {
    constexpr double most = std::numeric_limits<std::uint16_t>::max();
    const float largest = count > 0 ? *std::max_element(costs, costs + count) : 0.0f;
    step = static_cast<double>(largest) / most;
    if (!(step > 0.0)) return;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double whole = static_cast<double>(costs[i]) / step;
      steps[i] = static_cast<std::uint16_t>(whole > 0.0 ? std::min(whole, most) : 0.0);
    }
  }
};

// The largest of some words, for a check of all of them at once.
std::int64_t largest_word(const std::uint16_t* words, std::int64_t count);
std::int64_t largest_word(const std::int32_t* words, std::int64_t count);

// sums[row] += at most costs[word] * count for each word of the row, and less than that by no more than a 65,535th of
// the largest cost for each: for bounds, three times as fast. Costs are finite and not negative. False as above.
template <class Word, class Count>
bool add_row_costs(const BagRows<Word, Count>& bags, const float* costs, std::int64_t word_count, float* sums,
                   int threads, Watch& watch) {
  constexpr std::int64_t block_rows = 1 << 10;
  const CostSteps table(costs, word_count);
  const std::uint16_t* const steps = table.steps.data();
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t first = block * block_rows, last = std::min(first + block_rows, bags.rows);
    watch.check();
    bool fits = bags.indptr[first] >= 0 && bags.indptr[last] <= bags.stored;
    for (std::int64_t row = first; row < last; ++row) fits &= bags.indptr[row] <= bags.indptr[row + 1];
    const std::int64_t begin = bags.indptr[first], stored = bags.indptr[last] - begin;
    if (!fits || (stored > 0 && largest_word(bags.words + begin, stored) >= word_count)) {
      sound = false;
      return;
    }
    for (std::int64_t row = first; row < last; ++row) {
      std::uint64_t sum = 0;
      for (std::int64_t k = bags.indptr[row]; k < bags.indptr[row + 1]; ++k) {
        sum += static_cast<std::uint64_t>(steps[bags.words[k]]) * static_cast<std::uint32_t>(bags.counts[k]);
      }
      sums[row] += static_cast<float>(static_cast<double>(sum) * table.step);
    }
  };
  for_blocks((bags.rows + block_rows - 1) / block_rows, threads, body, watch);
  return sound;
}

}  // namespace wordferry
