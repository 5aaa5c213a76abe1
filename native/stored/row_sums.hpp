// What documents weigh: sums over the words of each row of stored bags.
#pragma once

#include <cstdint>

#include "stored/bags.hpp"
#include "stored/repeats.hpp"
#include "support/pool.hpp"

namespace wordferry {

// sums[row] += weights[word] * (what the word counts) for each word of the row, one after the other, or its square.
// False when a row leads outside of the arrays or has a word without a weight.
bool add_row_sums(const StoredBags& bags, const double* weights, std::int64_t word_count, bool squared,
                  const Repeats& repeats, double* sums, int threads, Watch& watch);

}  // namespace wordferry
