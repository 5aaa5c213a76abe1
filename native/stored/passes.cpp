#include "stored/passes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <type_traits>

namespace wordferry {

namespace {

// Refuses rows that lead outside of the arrays, or have a word that is not below `word_count`.
template <class Word>
void require_rows(const StoredBags& bags, const Word* words, std::span<const std::int64_t> rows,
                  std::int64_t word_count) {
  using Unsigned = std::make_unsigned_t<Word>;  // a negative number becomes a very large one
  Unsigned largest = 0;
  bool empty = true;
  for (const std::int64_t row : rows) {
    const auto [begin, end] = bags.span(row);
    empty &= begin == end;
    for (std::int64_t k = begin; k < end; ++k) largest = std::max(largest, static_cast<Unsigned>(words[k]));
  }
  require_inside(empty || static_cast<std::int64_t>(largest) < word_count, "a word has no weight");
}

// sums[row] += value(k, row) for each entry k of the row, one after the other. Several rows at a time, so that no sum
// waits for another.
template <class Value>
void add_in_order(const std::int64_t* indptr, std::span<const std::int64_t> rows, double* sums, Value&& value) {
  constexpr std::size_t together = 4;
  for (std::size_t first = 0; first < rows.size(); first += together) {
    const auto group = rows.subspan(first, std::min(together, rows.size() - first));
    double sum[together];
    std::int64_t begin[together], shared = group.size() < together ? 0 : std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < group.size(); ++i) {
      sum[i] = sums[group[i]];
      begin[i] = indptr[group[i]];
      shared = std::min(shared, indptr[group[i] + 1] - begin[i]);
    }
    for (std::int64_t k = 0; k < shared; ++k) {
      for (std::size_t i = 0; i < together; ++i) sum[i] += value(begin[i] + k, group[i]);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::int64_t k = begin[i] + shared; k < indptr[group[i] + 1]; ++k) sum[i] += value(k, group[i]);
      sums[group[i]] = sum[i];
    }
  }
}

}  // namespace

void add_row_sums(const StoredBags& bags, const WordWeights& weights, bool squared, const Repeats& repeats,
                  const bool* allowed, double* sums, int threads, Watch& watch) {
  constexpr std::int64_t block_rows = 1 << 10;
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t begin = block * block_rows, end = std::min(begin + block_rows, bags.rows);
    std::array<std::int64_t, block_rows> some;
    std::size_t count = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      some[count] = row;
      count += allowed == nullptr || allowed[row] ? 1 : 0;
    }
    const std::span<const std::int64_t> rows(some.data(), count);
    bags.typed([&](const auto* words, const auto* counts) {
      require_rows(bags, words, rows, weights.count);
      const auto add = [&](const auto& times) {
        const auto value = [&](std::int64_t k, std::int64_t row) { return times(k, row) * weights.values[words[k]]; };
        if (!squared) return add_in_order(bags.indptr, rows, sums, value);
        add_in_order(bags.indptr, rows, sums, [&](std::int64_t k, std::int64_t row) {
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
