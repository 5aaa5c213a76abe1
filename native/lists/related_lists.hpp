// Inverted lists: for each word the documents that have it, by blocks of 65,536 rows, so that what one block sums up
// stays in the cache and a row needs 16 bits.
#pragma once

#include <cstdint>

#include "support/pool.hpp"

namespace wordferry {

constexpr std::int64_t list_block_rows = 1 << 16;

template <class Count>
struct Lists {
  const std::int64_t* blocks;   // where the words of each block begin; blocks + 1
  const std::int32_t* words;    // of all blocks, rising within a block
  const std::int64_t* starts;   // where the list of each word begins; words + 1
  const std::uint16_t* rows;    // within the block, rising within a list
  const Count* counts;
  std::int64_t block_count, word_count, stored;
};

// The words that a query has or is related to, rising, and what they cost.
struct TouchedWords {
  const std::int32_t* words;
  const float* near;    // the cost of the nearest word of the query that it may move to
  const float* gain;    // how much less that is than what an untouched word costs
  const float* common;  // the mass that the query has of this very word and that may stay, or 0
  std::int64_t count;
};

// out[row] = rest - (what the touched words save) / (the sum of the row's counts): the cost of moving the document onto
// the query when an untouched word costs `rest`. Rows without words get infinity. Returns how many entries of lists were
// visited, or -1 when the lists lead outside of themselves, which only damaged ones do.
template <class Count>
std::int64_t list_bounds(const Lists<Count>& lists, const TouchedWords& touched, const float* totals, std::int64_t rows,
                         float rest, float* out, int threads, Watch& watch);

}  // namespace wordferry
