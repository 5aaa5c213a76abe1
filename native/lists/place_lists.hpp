// Bags of words turned round: from the words of each row to the rows of each word.
#pragma once

#include <cstdint>

#include "support/watch.hpp"

namespace wordferry {

// Writes each entry of `rows` rows where the list of its word stands, and moves that place on; rows rise within a list.
// False when a word is outside of 0 .. word_count - 1, or a place outside of 0 .. stored - 1.
template <class Word, class Count>
bool place_lists(const std::int64_t* indptr, const Word* words, const Count* counts, std::int64_t rows,
                 std::int64_t* places, std::int64_t word_count, std::int64_t stored, std::uint16_t* out_rows,
                 Count* out_counts, Watch& watch) {
  Pace pace(watch);
  const std::int64_t begin = indptr[0];
  for (std::int64_t row = 0; row < rows; ++row) {
    pace.spend(4 * (indptr[row + 1] - indptr[row]) + 1);
    for (std::int64_t at = indptr[row] - begin; at < indptr[row + 1] - begin; ++at) {
      const auto word = static_cast<std::int64_t>(words[at]);
      if (word < 0 || word >= word_count) return false;
      const std::int64_t place = places[word];
      if (place < 0 || place >= stored) return false;
      places[word] = place + 1;
      out_rows[place] = static_cast<std::uint16_t>(row);
      out_counts[place] = counts[at];
    }
  }
  return true;
}

}  // namespace wordferry
