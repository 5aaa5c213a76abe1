#include "stored/bit_sums.hpp"

#include <algorithm>
#include <cstring>

#include "support/compiler.hpp"
#include "support/lanes.hpp"

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace wordferry {

namespace {

constexpr std::int64_t ahead = 2 * group_numbers;  // memory is asked for two groups before it is needed

}  // namespace

#if defined(__AVX512BW__)

// Where additions can be masked, 32 bits are the mask as they are: half the steps that the compiler finds.
void sum_bits(const WeighedBits* words, std::size_t count, std::int64_t group, GroupSums& out) {
  constexpr int masks = group_rows / 32;
  __m512i sums[masks];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t* const from = words[i].bits + group * group_numbers;
    prefetch_line(from + ahead);
    const __m512i gain = _mm512_set1_epi16(static_cast<short>(words[i].gain));
#pragma GCC unroll 16
    for (int m = 0; m < masks; ++m) {
      std::uint32_t mask;
      std::memcpy(&mask, from + 2 * m, sizeof mask);
      sums[m] = _mm512_mask_add_epi16(sums[m], mask, sums[m], gain);
    }
  }
  for (int m = 0; m < masks; ++m) _mm512_storeu_si512(out + 32 * m, sums[m]);
}

#elif defined(WF_VECTORS)

typedef std::uint16_t BitLanes __attribute__((vector_size(number_rows * sizeof(std::uint16_t))));

// Eight numbers of each word at a time: that many sums stay in registers.
void sum_bits(const WeighedBits* words, std::size_t count, std::int64_t group, GroupSums& out) {
  constexpr int some = 8;
  const BitLanes lanes = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  for (int first = 0; first < group_numbers; first += some) {
    BitLanes sums[some] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t* const from = words[i].bits + group * group_numbers;
      if (first == 0) prefetch_line(from + ahead);
      const BitLanes gain = BitLanes{} + words[i].gain;
#pragma GCC unroll 8
      for (int n = 0; n < some; ++n) {
        const BitLanes set = lanes & (BitLanes{} + from[first + n]);
        sums[n] = set != 0 ? sums[n] + gain : sums[n];
      }
    }
    std::memcpy(out + first * number_rows, sums, sizeof sums);
  }
}

#else

void sum_bits(const WeighedBits* words, std::size_t count, std::int64_t group, GroupSums& out) {
  std::memset(out, 0, sizeof(GroupSums));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t* const from = words[i].bits + group * group_numbers;
    prefetch_line(from + ahead);
    for (std::int64_t row = 0; row < group_rows; ++row) {
      const unsigned set = static_cast<unsigned>(from[row / number_rows]) >> row % number_rows & 1u;
      out[row] = static_cast<std::uint16_t>(out[row] + set * words[i].gain);
    }
  }
}

#endif

#if defined(WF_VECTORS)

void add_bits(const CostedBits* words, std::size_t count, std::int64_t group, const float* totals, float* saved) {
  constexpr int some = 8;
  const NumberLanes lanes = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  for (int first = 0; first < group_numbers; first += some) {
    Lanes sums[some];
    for (int n = 0; n < some; ++n) load(sums[n], saved + (first + n) * number_rows);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t* const from = words[i].bits + group * group_numbers;
      if (first == 0) prefetch_line(from + ahead);
      Lanes gain, near, common, one;
      fill_lanes(gain, words[i].gain);
      if (words[i].common == 0.0f) {
#pragma GCC unroll 8
        for (int n = 0; n < some; ++n) {
          sums[n] = (lanes & (NumberLanes{} + from[first + n])) != 0 ? sums[n] + gain : sums[n];
        }
        continue;
      }
      fill_lanes(near, words[i].near);
      fill_lanes(common, words[i].common);
      fill_lanes(one, 1.0f);
      for (int n = 0; n < some; ++n) {
        Lanes stays;
        load(stays, totals + (first + n) * number_rows);
        stays = stays * common;
        keep_lower(stays, one);
        sums[n] = (lanes & (NumberLanes{} + from[first + n])) != 0 ? sums[n] + gain + near * stays : sums[n];
      }
    }
    for (int n = 0; n < some; ++n) store(saved + (first + n) * number_rows, sums[n]);
  }
}

#else

void add_bits(const CostedBits* words, std::size_t count, std::int64_t group, const float* totals, float* saved) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t* const from = words[i].bits + group * group_numbers;
    prefetch_line(from + ahead);
    for (std::int64_t row = 0; row < group_rows; ++row) {
      if ((static_cast<unsigned>(from[row / number_rows]) >> row % number_rows & 1u) == 0) continue;
      saved[row] += words[i].gain + words[i].near * std::min(1.0f, words[i].common * totals[row]);
    }
  }
}

#endif

}  // namespace wordferry
