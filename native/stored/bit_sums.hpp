// What words with bits add to the rows of a block: the bits of many words are summed up for 512 rows at a time, in
// registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stored/stored.hpp"

namespace wordferry {

// The bits of a word in one block, and what each of them adds.
struct WeighedBits {
  const std::uint16_t* bits;
  std::uint16_t gain;
};

// out[row] = the sum of the gains of the words that have the row, for the rows of one group; the sum of all gains must
// stay below 65,536.
using GroupSums = std::uint16_t[group_rows];
void sum_bits(const WeighedBits* words, std::size_t count, std::int64_t group, GroupSums& out);

// The bits of a word in one block, and what it costs: each row saves `gain`, and what may stay of one occurrence of it
// saves `near` as well, where the query has a mass of `common` of it.
struct CostedBits {
  const std::uint16_t* bits;
  float gain, near, common;
};

// saved[row] += gain + near * min(1, common * total) for the rows of one group that a word has.
void add_bits(const CostedBits* words, std::size_t count, std::int64_t group, const float* totals, float* saved);

}  // namespace wordferry
