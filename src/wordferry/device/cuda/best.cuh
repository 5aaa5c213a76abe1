// The k least of each row, by (value, column): a warp is a row. Lists stay sorted between calls, so that a row may come
// in parts.
#pragma once

#include "lanes.cuh"

namespace wordferry {

using Key = unsigned long long;  // the bits of a value that is not negative, then its column: they sort as both do

WF_DEVICE Key key_of(float value, Index column) {
  return (static_cast<Key>(bits_of(value)) << 32) | static_cast<Key>(column);
}

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

// The least `width` keys so far, sorted, in shared memory; behind them candidates that are not yet sorted in.
struct BestKeys {
  Key* keys;
  int width, size;
  int waiting;  // candidates
  Key last;     // what is not below it is none

  WF_DEVICE BestKeys(Key* memory, const Key* list, int list_width, int memory_size)
      : keys(memory), width(list_width), size(memory_size), waiting(0) {
    WF_LANES(lane) {
      for (int k = lane; k < size; k += 32) keys[k] = k < width ? list[k] : ~Key{0};
    }
    WF_FENCE();
    last = keys[width - 1];
  }

  WF_DEVICE void offer(Lanes<Key>& key) {
    Lanes<bool> better;
    WF_LANES(lane) better[lane] = key[lane] < last;
    const unsigned chosen = warp_ballot(better);
    if (chosen == 0) return;
    if (width + waiting + 32 > size) {
      sort_keys(keys, size);
      WF_LANES(lane) {
        for (int k = width + lane; k < size; k += 32) keys[k] = ~Key{0};
      }
      WF_FENCE();
      waiting = 0;
      last = keys[width - 1];
    }
    WF_LANES(lane) {
      if (better[lane]) keys[width + waiting + bits_set(chosen & ((1u << lane) - 1u))] = key[lane];
    }
    WF_FENCE();
    waiting += bits_set(chosen);
  }

  WF_DEVICE void store(Key* list) {
    sort_keys(keys, size);
    WF_LANES(lane) {
      for (int k = lane; k < width; k += 32) list[k] = keys[k];
    }
    WF_FENCE();
  }
};

constexpr int at_once = 4;  // values of a lane

WF_DEVICE void best_of_row(const float* values, const unsigned char* allowed, Index columns, Index first, int width,
                           int size, Key* list, Key* keys) {
  BestKeys best(keys, list, width, size);
  for (Index column = 0; column < columns; column += 32 * at_once) {
    LaneArray<Key, at_once> key;  // several are under way at a time
    WF_LANES(lane) {
      WF_UNROLL
      for (int s = 0; s < at_once; ++s) {
        const Index c = column + 32 * s + lane;
        const bool there = c < columns && (allowed == nullptr || allowed[c] != 0);
        key(lane, s) = there ? key_of(greater(values[c], 0.0f), first + c) : ~Key{0};
      }
    }
    WF_UNROLL
    for (int s = 0; s < at_once; ++s) {
      Lanes<Key> offered;
      WF_LANES(lane) offered[lane] = key(lane, s);
      best.offer(offered);
    }
  }
  best.store(list);
}

WF_DEVICE double value_of(Key key) { return static_cast<double>(float_of(static_cast<unsigned>(key >> 32))); }

// How far values may be off: a number, and a share of the value for each word of the longer document.
struct Errors {
  double always, per_word;
  const Index* y_indptr;
};

WF_DEVICE double error_of(const Errors& errors, Key key, Index length) {
  const Index column = static_cast<Index>(key & 0xffffffffu);
  const Index other = errors.y_indptr[column + 1] - errors.y_indptr[column];
  return errors.always + errors.per_word * static_cast<double>(length > other ? length : other) * value_of(key);
}

// Marks candidates of one row; all marks stay 0 where the row is sure.
WF_DEVICE void mark_row(const Key* list, int width, int k, Index length, const Errors& errors, double outside,
                        unsigned char* marks) {
  double lowest = outside;
  bool unsure = false;
  for (int p = width - 1; p >= 0; --p) {
    marks[p] = 0;
    if (list[p] == ~Key{0}) continue;
    const double value = value_of(list[p]), error = error_of(errors, list[p], length);
    marks[p] = p < k && value + error >= lowest ? 1 : 0;
    unsure = unsure || marks[p] != 0;
    lowest = value - error < lowest ? value - error : lowest;
  }
  double highest = -1;
  for (int p = 0; p < width && unsure && list[p] != ~Key{0}; ++p) {
    const double value = value_of(list[p]), error = error_of(errors, list[p], length);
    if (highest >= value - error) marks[p] = 1;
    if (p < k && value + error > highest) highest = value + error;
  }
}

}  // namespace wordferry

// Marks the candidates that rounding could put into another of the first k places, so that a row without a mark is
// sure. outside[row]: nothing that is not listed can be below it; `longest` words has the longest document, and -1 says
// that all are listed. A lane is a row.
WF_KERNEL(mark_doubts)
(const unsigned long long* lists, wordferry::Index rows, wordferry::Index width, wordferry::Index k,
 const wordferry::Index* x_indptr, const wordferry::Index* y_indptr, wordferry::Index longest, double error,
 double error_per_word, unsigned char* marks, double* outside) {
  using namespace wordferry;
  const Errors errors{error, error_per_word, y_indptr};
  WF_WARPS(warp) {
    WF_LANES(lane) {
      const Index row = (block_number() * warp_total() + warp) * 32 + lane;
      if (row < rows) {
        const Key* list = lists + row * width;
        const double share = 1 - error_per_word * static_cast<double>(longest);
        outside[row] = longest < 0 ? 1e300 : value_of(list[width - 1]) * share - error;
        mark_row(list, static_cast<int>(width), static_cast<int>(k), x_indptr[row + 1] - x_indptr[row], errors,
                 outside[row], marks + row * width);
      }
    }
  }
}

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
