// The nearest words of each word: from approximate products by one pass over them, then exactly for the candidates.
#pragma once

#include "best.cuh"
#include "lanes.cuh"

namespace wordferry {

constexpr int words_at_once = 4;  // of a lane

// The k least squared distances of one word, and the sum of all its distances. Most words are ruled out four at a time.
WF_DEVICE double near_words(const float* products, const float* norms, float own, Index self, Index columns,
                            Index first, int width, int size, Key* list, Key* keys) {
  BestKeys best(keys, list, width, size);
  Lanes<double> total;
  WF_LANES(lane) total[lane] = 0;
  for (Index column = 0; column < columns; column += 32 * words_at_once) {
    LaneArray<float, words_at_once> squared;
    Lanes<bool> better;
    const unsigned limit = static_cast<unsigned>(best.last >> 32);
    WF_LANES(lane) {
      float sum = 0;
      better[lane] = false;
      WF_UNROLL
      for (int s = 0; s < words_at_once; ++s) {
        const Index c = column + 32 * s + lane;
        const bool there = c < columns && first + c != self;
        squared(lane, s) = there ? greater(own + norms[c] - 2.0f * products[c], 0.0f) : infinite();
        sum += there ? rough_root(squared(lane, s)) : 0.0f;
        better[lane] = better[lane] || (there && bits_of(squared(lane, s)) <= limit);
      }
      total[lane] += static_cast<double>(sum);
    }
    if (warp_ballot(better) == 0) continue;
    WF_UNROLL
    for (int s = 0; s < words_at_once; ++s) {
      Lanes<Key> key;
      WF_LANES(lane) {
        const Index c = column + 32 * s + lane;
        const bool there = c < columns && first + c != self;
        key[lane] = there ? key_of(squared(lane, s), first + c) : ~Key{0};
      }
      best.offer(key);
    }
  }
  best.store(list);
  return warp_sum(total);
}

}  // namespace wordferry

// products[rows, stride] of some words (their numbers are `words`) with the words from `first` on; totals[row] grows.
WF_KERNEL(nearest_words)
(const float* products, wordferry::Index stride, const float* norms, const float* own_norms, const int* words,
 wordferry::Index rows, wordferry::Index columns, wordferry::Index first, wordferry::Index width, wordferry::Index size,
 unsigned long long* lists, double* totals) {
  using namespace wordferry;
  WF_WARPS(warp) {
    const Index row = block_number() * warp_total() + warp;
    Key* keys = reinterpret_cast<Key*>(shared_memory()) + warp * size;
    if (row < rows) {
      const double total =
          near_words(products + row * stride, norms + first, own_norms[row], words[row], columns, first,
                     static_cast<int>(width), static_cast<int>(size), lists + row * width, keys);
      WF_LANES(lane) {
        if (lane == 0) totals[row] += total;
      }
    }
  }
}

// Exact squared distances of candidates: a warp is a word. Candidates below 0 are none.
WF_KERNEL(exact_words)
(const float* vectors, wordferry::Index dimensions, const int* words, wordferry::Index rows,
 const long long* candidates, wordferry::Index width, double* squared) {
  using namespace wordferry;
  WF_WARPS(warp) {
    const Index row = block_number() * warp_total() + warp;
    for (Index k = 0; row < rows && k < width; ++k) {
      const Index other = candidates[row * width + k];
      if (other < 0) continue;
      const float* a = vectors + words[row] * dimensions;
      const float* b = vectors + other * dimensions;
      Lanes<double> sum;
      WF_LANES(lane) {
        sum[lane] = 0;
        for (Index d = lane; d < dimensions; d += 32) {
          const double difference = static_cast<double>(a[d]) - static_cast<double>(b[d]);
          sum[lane] += difference * difference;
        }
      }
      const double value = warp_sum(sum);
      WF_LANES(lane) {
        if (lane == 0) squared[row * width + k] = value;
      }
    }
  }
}
