// Passes over all rows of stored bags: what documents weigh, and from the words of each row to the rows of each word.
#pragma once

#include <cstdint>

#include "stored/stored.hpp"
#include "support/pool.hpp"

namespace wordferry {

// sums[row] += weights[word] * (what the word counts) for each word of the row, one after the other, or its square;
// where `allowed` is not null, for the rows that it says.
void add_row_sums(const StoredBags& bags, const WordWeights& weights, bool squared, const Repeats& repeats,
                  const bool* allowed, double* sums, int threads, Watch& watch);

// Where each word's rows go; moved on as they are placed.
struct ListPlaces {
  std::int64_t* once;        // in the rows, for those that a list says to have the word once
  std::int64_t* repeated;    // in the rows, for the others
  std::int64_t* counts;      // in the counts of the others
  const std::int64_t* bits;  // where the bits of a word begin, or -1 for a word without
  std::int64_t words;
};

// What the rows of a block are written to.
struct ListsOut {
  std::uint16_t* rows;
  void* counts;  // in the type of the bags' counts
  std::uint16_t* bits;
  std::int64_t row_count, counted, numbers;
};

// Counts how many rows each list will have of either kind.
void count_lists(const StoredBags& bags, const ListPlaces& lists, Watch& watch);

// Writes each entry of a block's bags where the list or the bits of its word stand. The first number of indptr may be
// any.
void place_lists(const StoredBags& bags, const ListPlaces& places, const ListsOut& out, Watch& watch);

}  // namespace wordferry
