// What moving every document onto a query costs, summed up over inverted lists.
#pragma once

#include <cstdint>

#include "stored/repeats.hpp"
#include "stored/stored_lists.hpp"
#include "support/pool.hpp"

namespace wordferry {

// The words that a query has or is related to, rising, and what they cost.
struct TouchedWords {
  const std::int32_t* words;
  const float* near;    // the cost of the nearest word of the query that it may move to
  const float* gain;    // how much less that is than what an untouched word costs
  const float* common;  // the mass that the query has of this very word and that may stay, or 0
  std::int64_t count;
};

// out[row] = rest - (what the touched words save) / (what the row's words count): the cost of moving the document onto
// the query when an untouched word costs `rest`. Rows without words get infinity. Returns how many entries of lists
// were visited, or -1 when the lists lead outside of themselves, which only damaged ones do.
std::int64_t list_bounds(const StoredLists& lists, const TouchedWords& touched, const float* totals, std::int64_t rows,
                         const Repeats& repeats, float rest, float* out, int threads, Watch& watch);

}  // namespace wordferry
