#include "stored/passes.hpp"

#include <algorithm>
#include <type_traits>

namespace wordferry {

namespace {

// Refuses rows that lead outside of the arrays, or have a word that is not below `word_count`: all words at once.
template <class Word>
void require_rows(const StoredBags& bags, const Word* words, std::int64_t first, std::int64_t last,
                  std::int64_t word_count) {
  const std::int64_t begin = bags.indptr[first], end = bags.indptr[last];
  bool fits = begin >= 0 && end <= bags.stored;
  for (std::int64_t row = first; row < last; ++row) fits &= bags.indptr[row] <= bags.indptr[row + 1];
  require_inside(fits);
  using Unsigned = std::make_unsigned_t<Word>;  // a negative number becomes a very large one
  Unsigned largest = 0;
  for (std::int64_t k = begin; k < end; ++k) largest = std::max(largest, static_cast<Unsigned>(words[k]));
  require_inside(begin == end || static_cast<std::int64_t>(largest) < word_count, "a word has no weight");
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

void add_row_sums(const StoredBags& bags, const WordWeights& weights, bool squared, const Repeats& repeats,
                  double* sums, int threads, Watch& watch) {
  constexpr std::int64_t block_rows = 1 << 10;
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t first = block * block_rows, last = std::min(first + block_rows, bags.rows);
    bags.typed([&](const auto* words, const auto* counts) {
      require_rows(bags, words, first, last, weights.count);
      const auto add = [&](const auto& times) {
        const auto value = [&](std::int64_t k, std::int64_t row) { return times(k, row) * weights.values[words[k]]; };
        if (!squared) return add_in_order(bags.indptr, first, last, sums, value);
        add_in_order(bags.indptr, first, last, sums, [&](std::int64_t k, std::int64_t row) {
          const double one = value(k, row);
          return one * one;
        });
      };
      if (repeats.growth == Growth::counts) {
        add([&](std::int64_t k, std::int64_t) { return static_cast<double>(counts[k]); });
      } else {
        add([&](std::int64_t k, std::int64_t row) { return repeats.times(static_cast<std::int64_t>(counts[k]), row); });
      }
    });
  };
  for_blocks((bags.rows + block_rows - 1) / block_rows, threads, body, watch);
}

void count_lists(const StoredBags& bags, const ListPlaces& lists, Watch& watch) {
  Pace pace(watch);
  bags.typed([&](const auto* words, const auto* counts) {
    for (std::int64_t at = 0; at < bags.stored; ++at) {
      pace.spend(2);
      const auto word = static_cast<std::int64_t>(words[at]);
      require_inside(word >= 0 && word < lists.words);
      const std::int64_t left = static_cast<std::int64_t>(counts[at]) - (lists.bits[word] >= 0 ? 1 : 0);
      if (left == 1) ++lists.once[word];
      if (left > 1) ++lists.repeated[word];
    }
  });
}

void place_lists(const StoredBags& bags, const ListPlaces& places, const ListsOut& out, Watch& watch) {
  Pace pace(watch);
  const std::int64_t begin = bags.indptr[0];
  const auto next = [](std::int64_t& place, std::int64_t size) {
    require_inside(place >= 0 && place < size);
    return place++;
  };
  bags.typed([&]<class Count>(const auto* words, const Count* counts) {
    for (std::int64_t row = 0; row < bags.rows; ++row) {
      pace.spend(4 * (bags.indptr[row + 1] - bags.indptr[row]) + 1);
      for (std::int64_t at = bags.indptr[row] - begin; at < bags.indptr[row + 1] - begin; ++at) {
        const auto word = static_cast<std::int64_t>(words[at]);
        require_inside(word >= 0 && word < places.words);
        auto left = static_cast<std::int64_t>(counts[at]);
        if (places.bits[word] >= 0) {
          require_inside(places.bits[word] < out.numbers - row / number_rows);
          std::uint16_t& number = out.bits[places.bits[word] + row / number_rows];
          number = static_cast<std::uint16_t>(number | 1u << row % number_rows);
          --left;
        }
        if (left < 1) continue;
        const std::int64_t place = next(left == 1 ? places.once[word] : places.repeated[word], out.row_count);
        out.rows[place] = static_cast<std::uint16_t>(row);
        if (left == 1) continue;
        static_cast<Count*>(out.counts)[next(places.counts[word], out.counted)] = static_cast<Count>(left);
      }
    }
  });
}

}  // namespace wordferry
