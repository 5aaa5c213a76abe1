// Exact nearest documents by Rel-RWMD through inverted lists.
//
// Moving a document onto the query costs c_max for each word that the query does not touch, so that side of the distance
// is c_max less what the lists of the touched words save. It bounds the distance from below. The sums of a block of rows
// stay in the cache, and only rows that can still be among the nearest leave it: nothing is kept for every document.
#pragma once

#include <cstdint>
#include <vector>

#include "lists/stored_words.hpp"
#include "relaxed/touched.hpp"

namespace wordferry {

// Documents in the order of their rows, as they are stored.
struct StoredBags {
  const std::int64_t* indptr;
  const std::int32_t* words;
  const void* counts;
  int width;             // bytes of a count
  const float* totals;   // the sum of the counts of each row
  std::int64_t rows, stored;
  float largest_total;
};

struct SearchedPart {
  StoredLists lists;
  StoredBags bags;
  std::int64_t start;           // the number of its first row among all
  const std::uint8_t* allowed;  // by row, or null
};

struct NearRow {
  float distance;
  std::int64_t row;
};

inline bool nearer(const NearRow& a, const NearRow& b) {
  return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
}

struct NearestRows {
  std::vector<NearRow> best;  // by (distance, row)
  std::int64_t visited = 0;   // entries of lists
  std::int64_t evaluated = 0;  // documents that were compared in full
};

// The k nearest of the allowed rows of all parts; `slack` is how far bounds and distances may be off. False when the
// arrays lead outside of themselves, which only damaged ones do.
bool nearest_by_lists(const std::vector<SearchedPart>& parts, TouchedQuery& query, float slack, std::int64_t k,
                      int threads, NearestRows& found, Watch& watch);

// The distances of some rows. False as above.
bool distances_of(const std::vector<SearchedPart>& parts, TouchedQuery& query, const std::int64_t* rows,
                  std::int64_t count, float* out, Watch& watch);

}  // namespace wordferry
