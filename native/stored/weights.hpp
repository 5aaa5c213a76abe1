// What words weigh in one state of an index, and documents with the sums of what their words weigh.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stored/bags.hpp"
#include "stored/repeats.hpp"
#include "stored/stored_lists.hpp"

namespace wordferry {

// The weight of each word by its number; a word of weight 0 does not count.
struct WordWeights {
  const double* values;
  std::int64_t count;
};

// Some documents, by word and by row, with the sums over each of what its words count times what they weigh.
struct SearchedPart {
  StoredLists lists;
  StoredBags bags;
  const float* totals;  // those sums in float32, or a little less where nothing but bounds is made of them
  const double* exact;  // the sums themselves, or null where nothing needs them
  const float* norms;   // Euclidean lengths over what the words of a row count and weigh, likewise; or null
  float mean_total, largest_total;
  float longest;  // no document has more words, a repeated one counted as often
  Repeats repeats;
  std::int64_t start;   // the number of its first row among those of all parts
  const bool* allowed;  // by row, or null
};

// The part that a row of all belongs to.
template <class Part>
const Part& part_of(const std::vector<Part>& parts, std::int64_t row) {
  const auto after = std::upper_bound(parts.begin(), parts.end(), row,
                                      [](std::int64_t one, const Part& part) { return one < part.start; });
  return *(after - 1);
}

}  // namespace wordferry
