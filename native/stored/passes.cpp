// Passes over all rows of stored bags: what documents weigh, and from the words of each row to the rows of each word.
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <type_traits>

#include "stored/views.hpp"

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

// sums[row] = the sum of weights[word] * (what the word counts) for each word of the row, one after the other, or of
// its square; 0 for the rows that are not allowed.
Made<double> row_sums(const StoredDocuments& documents, const In<double>& weights, bool squared,
                      const RepeatedWords& repeated, int threads, const Allowed& allowed) {
  constexpr std::int64_t summed_rows = 1 << 10;
  const StoredBags& bags = documents.bags;
  auto all = make_array(0.0, bags.rows);
  double* const sums = all.data();
  const double* const values = weights.data();
  const Repeats repeats = repeated.get(bags.rows);
  const bool* const mask = mask_of(allowed, bags.rows);
  const auto block = [&](std::int64_t begin, std::int64_t end, int) {
    std::array<std::int64_t, summed_rows> some;
    std::size_t count = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      some[count] = row;
      count += mask == nullptr || mask[row] ? 1 : 0;
    }
    const std::span<const std::int64_t> rows(some.data(), count);
    bags.typed([&](const auto* words, const auto* counts) {
      require_rows(bags, words, rows, weights.length());
      const auto add = [&](const auto& times) {
        const auto value = [&](std::int64_t k, std::int64_t row) { return times(k, row) * values[words[k]]; };
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
  run_native([&](Watch& watch) { for_ranges(bags.rows, summed_rows, thread_limit(threads), watch, block); });
  return all;
}

// Some rows of one block, whose words may begin anywhere in those of all rows.
StoredBags block_bags(const std::int64_t* indptr, std::int64_t rows, const AnyArray& words, const AnyArray& counts) {
  require(counts.length == words.length, "one count for each word");
  return {indptr, words.data, words.width, counts.data, counts.width, rows, words.length};
}

// How many rows the list of each word gets that have it once, and more often; `bits` is not negative for words with
// bits.
void count_lists(const WordArray& all_words, const CountArray& all_counts, const In<std::int64_t>& bits,
                 const Out<std::int64_t>& once, const Out<std::int64_t>& repeated) {
  const StoredBags bags = block_bags(nullptr, 0, any_array(all_words), any_array(all_counts));
  require(once.length() == bits.length() && repeated.length() == bits.length(), "one number for each word");
  const std::int64_t* const marked = bits.data();
  std::int64_t *const ones = once.data(), *const others = repeated.data();
  run_native([&](Watch& watch) {
    Pace pace(watch);
    bags.typed([&](const auto* words, const auto* counts) {
      for (std::int64_t at = 0; at < bags.stored; ++at) {
        pace.spend(2);
        const auto word = static_cast<std::int64_t>(words[at]);
        require_inside(word >= 0 && word < bits.length());
        const std::int64_t left = static_cast<std::int64_t>(counts[at]) - (marked[word] >= 0 ? 1 : 0);
        if (left == 1) ++ones[word];
        if (left > 1) ++others[word];
      }
    });
  });
}

// Writes each entry of a block's bags where the list or the bits of its word stand: rows that have it once and more
// often, the counts of these, and bits for a word with a place of them that is not -1. Places are moved on. The first
// number of indptr may be any.
template <class Count>
void place_lists(const In<std::int64_t>& indptr, const WordArray& all_words, const In<Count>& all_counts,
                 const Out<std::int64_t>& once, const Out<std::int64_t>& repeated, const Out<std::int64_t>& counters,
                 const In<std::int64_t>& bits, const Out<std::uint16_t>& out_rows, const Out<Count>& out_counts,
                 const Out<std::uint16_t>& out_bits) {
  const std::int64_t rows = indptr.length() - 1, *const ends = indptr.data(), *const marked = bits.data();
  require(rows >= 0 && rows <= list_block_rows, "a block has up to 65,536 rows");
  for (std::int64_t row = 0; row < rows; ++row) {
    require(ends[row] >= 0 && ends[row] <= ends[row + 1], "indptr must not fall");
  }
  const StoredBags bags = block_bags(ends, rows, any_array(all_words), any_array(CountArray(all_counts)));
  require(bags.stored == ends[rows] - ends[0], "one word and one count for each entry");
  require(once.length() == bits.length() && repeated.length() == bits.length() && counters.length() == bits.length(),
          "one place for each word");
  std::int64_t *const ones = once.data(), *const others = repeated.data(), *const counted = counters.data();
  const std::int64_t words_known = bits.length(), numbers = out_bits.length();
  const auto next = [](std::int64_t& place, std::int64_t size) {
    require_inside(place >= 0 && place < size);
    return place++;
  };
  const auto place = [&](std::int64_t row, std::int64_t word, std::int64_t left) {
    require_inside(word >= 0 && word < words_known);
    if (marked[word] >= 0) {
      require_inside(marked[word] < numbers - row / number_rows);
      std::uint16_t& number = out_bits.data()[marked[word] + row / number_rows];
      number = static_cast<std::uint16_t>(number | 1u << row % number_rows);
      --left;
    }
    if (left < 1) return;
    out_rows.data()[next(left == 1 ? ones[word] : others[word], out_rows.length())] = static_cast<std::uint16_t>(row);
    if (left > 1) out_counts.data()[next(counted[word], out_counts.length())] = static_cast<Count>(left);
  };
  run_native([&](Watch& watch) {
    Pace pace(watch);
    bags.typed([&](const auto* words, const auto* counts) {
      for (std::int64_t row = 0; row < rows; ++row) {
        pace.spend(4 * (ends[row + 1] - ends[row]) + 1);
        for (std::int64_t at = ends[row] - ends[0]; at < ends[row + 1] - ends[0]; ++at) {
          place(row, static_cast<std::int64_t>(words[at]), static_cast<std::int64_t>(counts[at]));
        }
      }
    });
  });
}

template <class Count>
void bind_place(nb::module_& m) {
  m.def("place_lists", &place_lists<Count>, "indptr"_in, "words"_in, "counts"_in, "once"_in, "repeated"_in,
        "counters"_in, "bits"_in, "out_rows"_in, "out_counts"_in, "out_bits"_in);
}

}  // namespace

void bind_stored(nb::module_& m) {
  m.def("count_lists", &count_lists, "words"_in, "counts"_in, "bits"_in, "once"_in, "repeated"_in);
  bind_place<std::uint8_t>(m);
  bind_place<std::uint16_t>(m);
  bind_place<std::int32_t>(m);
  nb::enum_<Growth>(m, "Growth", "How what a repeated word counts grows with its count.")
      .value("counts", Growth::counts)
      .value("logarithm", Growth::logarithm)
      .value("saturation", Growth::saturation);
  nb::class_<RepeatedWords>(m, "Repeats", "How much a word counts that a document has more than once.")
      .def(nb::init<Growth, In<double>>(), "growth"_a, "room"_in);
  nb::class_<StoredWordLists>(m, "StoredWordLists", "Posting lists as they are stored.")
      .def(nb::init<std::int64_t, const In<std::int64_t>&, const In<std::int32_t>&, const In<std::int64_t, 2>&,
                    const In<std::uint16_t>&, const CountArray&, const In<std::int64_t>&, const In<std::int32_t>&,
                    const In<std::int32_t>&, const In<std::uint16_t>&>(),
           "documents"_a, "blocks"_in, "words"_in, "starts"_in, "rows"_in, "counts"_in, "bit_blocks"_in, "bit_words"_in,
           "bit_sizes"_in, "bits"_in);
  nb::class_<StoredDocuments>(m, "StoredDocuments", "Documents as they are stored, by word and by row.")
      .def(nb::init<const StoredWordLists&, const In<std::int64_t>&, const WordArray&, const CountArray&>(), "lists"_a,
           "indptr"_in, "words"_in, "counts"_in)
      .def_prop_ro("documents", [](const StoredDocuments& self) { return self.bags.rows; })
      .def("sums", &row_sums, "weights"_in, "squared"_a, "repeats"_a, "threads"_a, "allowed"_in.none() = nb::none(),
           "What the words of each document count times their weights, summed up in their order, or the squares; 0 for "
           "documents that are not allowed.");
  nb::class_<WeightsView>(m, "WordWeights", "What each word weighs; 0 for one that does not count.")
      .def(nb::init<const In<double>&>(), "values"_in);
  nb::class_<WeighedDocuments>(m, "WeighedDocuments", "Stored documents with the sums of what their words weigh.")
      .def(nb::init<const StoredDocuments&, const In<float>&, const In<double>&, const In<float>&, float,
                    const RepeatedWords&>(),
           "stored"_a, "totals"_in, "exact"_in, "norms"_in, "longest"_a, "repeats"_a);
}

}  // namespace wordferry
