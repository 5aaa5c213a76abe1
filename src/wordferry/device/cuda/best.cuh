// The k least of each row, by (value, column): a warp is a row. Lists stay sorted between calls, so that a row may come
// in parts.
#pragma once

#include "lanes.cuh"

namespace wordferry {

using Key = unsigned long long;  // the bits of a value that is not negative, then its column: they sort as both do

// Sorts `size` keys in shared memory, a power of two, by compare and exchange (Batcher's bitonic network).
WF_DEVICE void sort_keys(Key* keys, int size) {
  for (int block = 2; block <= size; block <<= 1) {
    for (int step = block >> 1; step > 0; step >>= 1) {
      WF_LANES(lane) {
        for (int k = lane; k < size / 2; k += 32) {
          const int low = 2 * k - (k & (step - 1)), high = low + step;
          const bool rising = (low & block) == 0;
          if ((keys[low] > keys[high]) == rising) {
            const Key kept = keys[low];
            keys[low] = keys[high];
            keys[high] = kept;
          }
        }
      }
      WF_FENCE();
    }
  }
}

// Sorts candidates into the list and leaves room for others.
WF_DEVICE void sort_in(Key* keys, int width, int size) {
  sort_keys(keys, size);
  WF_LANES(lane) {
    for (int k = width + lane; k < size; k += 32) keys[k] = ~Key{0};
  }
  WF_FENCE();
}

WF_DEVICE void best_of_row(const float* values, const unsigned char* allowed, Index columns, Index first, int width,
                           int size, Key* list, Key* keys) {
  WF_LANES(lane) {
    for (int k = lane; k < size; k += 32) keys[k] = k < width ? list[k] : ~Key{0};
  }
  WF_FENCE();
  int waiting = 0;  // candidates behind the list, not yet sorted into it
  Key last = keys[width - 1];
  for (Index column = 0; column < columns; column += 32) {
    Lanes<Key> key;
    Lanes<bool> better;
    WF_LANES(lane) {
      const Index c = column + lane;
      key[lane] = ~Key{0};
      if (c < columns && (allowed == nullptr || allowed[c] != 0)) {
        key[lane] = (static_cast<Key>(bits_of(greater(values[c], 0.0f))) << 32) | static_cast<Key>(first + c);
      }
      better[lane] = key[lane] < last;
    }
    const unsigned chosen = warp_ballot(better);
    if (chosen == 0) continue;
    if (width + waiting + 32 > size) {
      sort_in(keys, width, size);
      waiting = 0;
      last = keys[width - 1];
    }
    WF_LANES(lane) {
      if (better[lane]) keys[width + waiting + bits_set(chosen & ((1u << lane) - 1u))] = key[lane];
    }
    WF_FENCE();
    waiting += bits_set(chosen);
  }
  sort_keys(keys, size);
  WF_LANES(lane) {
    for (int k = lane; k < width; k += 32) list[k] = keys[k];
  }
  WF_FENCE();
}

}  // namespace wordferry

// lists[row, width] are the keys so far; size >= width + 32 is a power of two. `first` is the number of column 0.
WF_KERNEL(best_of_rows)
(const float* values, wordferry::Index stride, const unsigned char* allowed, wordferry::Index rows,
 wordferry::Index columns, wordferry::Index first, wordferry::Index width, wordferry::Index size,
 unsigned long long* lists) {
  using namespace wordferry;
  WF_WARPS(warp) {
    const Index row = block_number() * warp_total() + warp;
    Key* keys = reinterpret_cast<Key*>(shared_memory()) + warp * size;
    if (row < rows) {
      best_of_row(values + row * stride, allowed, columns, first, static_cast<int>(width), static_cast<int>(size),
                  lists + row * width, keys);
    }
  }
}
