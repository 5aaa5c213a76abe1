// Bags of words turned round: from the words of each row to the rows of each word.
#pragma once

#include <cstdint>

#include "stored/stored_lists.hpp"
#include "support/watch.hpp"

namespace wordferry {

// The rows of one block with their words, and how many words there are.
template <class Word, class Count>
struct BlockBags {
  const std::int64_t* indptr;  // the first entry may have any number
  const Word* words;
  const Count* counts;
  std::int64_t rows, word_count;
};

// Where each word's rows go; moved on as they are placed.
struct ListPlaces {
  std::int64_t* once;        // in the rows, for those that a list says to have the word once
  std::int64_t* repeated;    // in the rows, for the others
  std::int64_t* counts;      // in the counts of the others
  const std::int64_t* bits;  // where the bits of a word begin, or -1 for a word without
};

// Counts how many rows each list will have of either kind. False when a word is outside of 0 .. word_count - 1.
template <class Word, class Count>
bool count_lists(const BlockBags<Word, Count>& bags, std::int64_t entries, const std::int64_t* bits, std::int64_t* once,
                 std::int64_t* repeated, Watch& watch) {
  Pace pace(watch);
  for (std::int64_t at = 0; at < entries; ++at) {
    pace.spend(2);
    const auto word = static_cast<std::int64_t>(bags.words[at]);
    if (word < 0 || word >= bags.word_count) return false;
    const std::int64_t left = static_cast<std::int64_t>(bags.counts[at]) - (bits[word] >= 0 ? 1 : 0);
    if (left == 1) ++once[word];
    if (left > 1) ++repeated[word];
  }
  return true;
}

// Writes each entry where the list or the bits of its word stand. False when a word or a place is out of range.
template <class Word, class Count>
bool place_lists(const BlockBags<Word, Count>& bags, const ListPlaces& places, std::int64_t stored,
                 std::int64_t counted, std::int64_t numbers, std::uint16_t* out_rows, Count* out_counts,
                 std::uint16_t* out_bits, Watch& watch) {
  Pace pace(watch);
  const std::int64_t begin = bags.indptr[0];
  const auto next = [](std::int64_t& place, std::int64_t size) { return place >= 0 && place < size ? place++ : -1; };
  for (std::int64_t row = 0; row < bags.rows; ++row) {
    pace.spend(4 * (bags.indptr[row + 1] - bags.indptr[row]) + 1);
    for (std::int64_t at = bags.indptr[row] - begin; at < bags.indptr[row + 1] - begin; ++at) {
      const auto word = static_cast<std::int64_t>(bags.words[at]);
      if (word < 0 || word >= bags.word_count) return false;
      auto left = static_cast<std::int64_t>(bags.counts[at]);
      if (places.bits[word] >= 0) {
        if (places.bits[word] > numbers - row / number_rows - 1) return false;
        std::uint16_t& number = out_bits[places.bits[word] + row / number_rows];
        number = static_cast<std::uint16_t>(number | 1u << row % number_rows);
        --left;
      }
      if (left < 1) continue;
      const std::int64_t place = next(left == 1 ? places.once[word] : places.repeated[word], stored);
      if (place < 0) return false;
      out_rows[place] = static_cast<std::uint16_t>(row);
      if (left == 1) continue;
      const std::int64_t counter = next(places.counts[word], counted);
      if (counter < 0) return false;
      out_counts[counter] = static_cast<Count>(left);
    }
  }
  return true;
}

}  // namespace wordferry
