// Documents as vectors of unit length in codes of one byte each, scanned for those nearest to a query.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "support/best.hpp"
#include "support/watch.hpp"

namespace wordferry {

// Row i is codes[i * dimension ...] * scales[i]; a document without a vector has the scale 0.
struct CodedVectors {
  const std::int8_t* codes;
  const float* scales;
  std::int64_t rows, start;  // start: of the rows among those of all parts
};

// A query of unit length: levels * scale. The sum of |levels| is at most 2^24 - 1, so that products fit in 32 bits.
struct CodedQuery {
  const std::int16_t* levels;
  std::int64_t dimension;
  double scale;
};

// The cosines of some documents in parts of 2^18, added up in whole numbers: any order gives the same sums.
struct CosineSums {
  std::int64_t count = 0, sum = 0, squares = 0;
};

using NearestByMeaning = BestK<double, std::greater<double>>;

// Offers the cosine of every row that `allowed` admits, and adds up those of every row that is alive; null admits all.
void scan(const CodedVectors& part, const CodedQuery& query, const bool* alive, const bool* allowed,
          NearestByMeaning& best, CosineSums& sums, Watch& watch);

}  // namespace wordferry
