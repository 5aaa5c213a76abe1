// wmd of two documents given as counts of words, without anything that is shared between many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/solver.hpp"

namespace wordferry {

struct CountedWord {
  std::int64_t word;
  Mass count;  // positive
};

// `vectors` has a row of `dimensions` for each word; the words of x and of y rise. Throws Unsolved where a distance of
// words is not finite.
double single_pair(const float* vectors, int dimensions, std::vector<CountedWord> x, std::vector<CountedWord> y,
                   Watch& watch);

}  // namespace wordferry
