// Stored documents, their lists and their weights as Python hands them over. Lengths are checked here, every offset
// when it is used.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "stored/stored.hpp"
#include "support/at.hpp"
#include "support/bind.hpp"

namespace wordferry {

using CountArray = std::variant<In<std::uint8_t>, In<std::uint16_t>, In<std::int32_t>>;
using WordArray = std::variant<In<std::uint16_t>, In<std::int32_t>>;

// An array of one of several types: its elements, how many there are, and the bytes of each.
struct AnyArray {
  const void* data;
  std::int64_t length;
  int width;
};
template <class... Types>
AnyArray any_array(const std::variant<In<Types>...>& arrays) {
  return std::visit(
      [](const auto& some) { return AnyArray{some.data(), some.length(), static_cast<int>(sizeof *some.data())}; },
      arrays);
}

// How much repeated words count.
class RepeatedWords {
 public:
  RepeatedWords(Growth growth, In<double> room) : growth_(growth), room_(std::move(room)) {
    require_all(room_, [](double one) { return one >= 0.0 && one <= 1e30; }, "room must be finite, and not negative");
  }

  Repeats get(std::int64_t documents) const {
    require(growth_ != Growth::saturation || room_.length() == documents, "room has one value for each document");
    return {growth_, room_.data()};
  }

 private:
  Growth growth_;
  In<double> room_;
};

// Inverted lists; copies share their tables.
struct StoredWordLists {
  StoredWordLists(std::int64_t documents, const In<std::int64_t>& blocks, const In<std::int32_t>& words,
                  const In<std::int64_t, 2>& starts, const In<std::uint16_t>& rows, const CountArray& counts,
                  const In<std::int64_t>& bit_blocks, const In<std::int32_t>& bit_words,
                  const In<std::int32_t>& bit_sizes, const In<std::uint16_t>& bits) {
    require(documents >= 0, "the number of documents must not be negative");
    require(blocks.length() == blocks_for(documents) + 1 && bit_blocks.length() == blocks.length(),
            "one block for each 65,536 rows");
    require(starts.length() == words.length() + 1 && starts.length(1) == 2, "words and starts must agree");
    require(bit_words.length() == bit_sizes.length(), "one size for each word with bits");
    auto tables = std::make_shared<std::vector<WordTable>>();
    for (std::int64_t block = 0; block + 1 < blocks.length(); ++block) {
      const std::int64_t first = blocks.data()[block], last = blocks.data()[block + 1];
      const bool inside = first >= 0 && first <= last && last <= words.length();
      tables->push_back(inside ? word_table(words.data() + first, words.data() + last) : WordTable{});
    }
    const AnyArray counted = any_array(counts);
    lists = {blocks.data(),       words.data(),      starts.data(),    rows.data(),      counted.data,
             counted.width,       bit_blocks.data(), bit_words.data(), bit_sizes.data(), bits.data(),
             blocks.length() - 1, words.length(),    rows.length(),    counted.length,   bit_words.length(),
             bits.length(),       documents,         tables->data()};
    held = hold(blocks, words, starts, rows, counts, bit_blocks, bit_words, bit_sizes, bits, tables);
  }

  StoredLists lists;
  Held held;
};

// Documents by word and by row.
struct StoredDocuments {
  StoredDocuments(const StoredWordLists& by_word, const In<std::int64_t>& indptr, const WordArray& words,
                  const CountArray& counts)
      : lists(by_word.lists), held(hold(by_word, indptr, words, counts)) {
    const AnyArray all = any_array(words), often = any_array(counts);
    require(indptr.length() >= 1, "indptr must not be empty");
    require(lists.row_count == indptr.length() - 1, "the lists must be of the same documents");
    require(all.length == often.length, "one count for each word of a bag");
    bags = {indptr.data(), all.data, all.width, often.data, often.width, indptr.length() - 1, all.length};
  }

  StoredLists lists;
  StoredBags bags;
  Held held;
};

// What each word weighs; 0 for one that does not count.
struct WeightsView : WordWeights {
  explicit WeightsView(const In<double>& all) : WordWeights{all.data(), all.length()}, held(hold(all)) {
    require(count < std::numeric_limits<std::int32_t>::max(), "too many words");
    require_all(
        all, [](double one) { return one == 0.0 || (one > 1e-12 && one < 1e12); },
        "weights must be 0 or lie between 1e-12 and 1e12");
  }

  Held held;
};

// Documents with the sums of what their words weigh.
struct WeighedDocuments : SearchedPart {
  WeighedDocuments(const StoredDocuments& stored, const In<float>& all_totals, const In<double>& exact_totals,
                   const In<float>& all_norms, float most_words, const RepeatedWords& repeated)
      : SearchedPart{stored.lists, stored.bags}, held(hold(stored, all_totals, exact_totals, all_norms, repeated)) {
    constexpr float most = 1e30f;
    const std::int64_t rows = bags.rows;
    require(all_totals.length() == rows, "one total for each document");
    require(exact_totals.length() == rows || exact_totals.length() == 0, "one exact total for each document, or none");
    require(all_norms.length() == rows || all_norms.length() == 0, "one norm for each document, or none");
    require(most_words >= 0.0f && most_words <= most, "longest must be a number of words");
    totals = all_totals.data();
    exact = exact_totals.length() == rows ? exact_totals.data() : nullptr;
    norms = all_norms.length() == rows ? all_norms.data() : nullptr;
    longest = most_words;
    repeats = repeated.get(rows);
    double sum = 0.0;
    for (const float total : all_totals.span()) {
      sum += static_cast<double>(total);
      largest_total = std::max(largest_total, total);
    }
    mean_total = rows > 0 ? static_cast<float>(sum / static_cast<double>(rows)) : 0.0f;
  }

  Held held;
};

using Allowed = std::optional<In<bool>>;

// What a search asks for: how many rows are wanted, and which may be found.
inline void require_k(std::int64_t k) {
  require(k >= 0 && k <= std::int64_t{1} << 32, "k must not be negative, and of moderate size");
}
inline const bool* mask_of(const Allowed& allowed, std::int64_t documents) {
  require(!allowed || allowed->length() == documents, "allowed needs a value for each document");
  return allowed ? allowed->data() : nullptr;
}

// The parts one after the other, with the rows that may be found.
using Parts = std::vector<const WeighedDocuments*>;
inline std::vector<SearchedPart> searched(const Parts& parts, const Allowed& allowed) {
  std::vector<SearchedPart> found;
  std::int64_t documents = 0;
  for (const WeighedDocuments* part : parts) {
    require(part != nullptr, "a part must not be None");
    found.push_back(*part);
    found.back().start = documents;
    documents += part->bags.rows;
  }
  const bool* const mask = mask_of(allowed, documents);
  for (SearchedPart& part : found) part.allowed = mask == nullptr ? nullptr : mask + part.start;
  return found;
}

// The same to look some rows up in.
inline std::vector<SearchedPart> searched(const Parts& parts, const In<std::int64_t>& rows) {
  std::vector<SearchedPart> found = searched(parts, Allowed{});
  const std::int64_t documents = found.empty() ? 0 : found.back().start + found.back().bags.rows;
  require_range(rows, 0, documents, "rows must lie in the parts");
  return found;
}

// What a search has found, as rows and their values.
template <class Item>
std::pair<Made<std::int64_t>, Made<decltype(Item::value)>> best_arrays(const std::vector<Item>& found) {
  auto rows = make_array(std::int64_t{0}, found.size());
  auto values = make_array(decltype(Item::value){0}, found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    rows.data()[i] = found[i].row;
    values.data()[i] = found[i].value;
  }
  return {std::move(rows), std::move(values)};
}

// The rows and distances that searches have found, -1 and infinity where there are fewer than k.
template <class Found>
std::pair<Made<std::int64_t, 2>, Made<float, 2>> nearest_arrays(const std::vector<Found>& found, std::int64_t k) {
  auto rows = make_array(std::int64_t{-1}, found.size(), k);
  auto distances = make_array(std::numeric_limits<float>::infinity(), found.size(), k);
  for (std::size_t q = 0; q < found.size(); ++q) {
    for (std::size_t i = 0; i < found[q].best.size(); ++i) {
      rows.data()[q * at(k) + i] = found[q].best[i].row;
      distances.data()[q * at(k) + i] = found[q].best[i].value;
    }
  }
  return {std::move(rows), std::move(distances)};
}

}  // namespace wordferry
