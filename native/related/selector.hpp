// Related words: selection of each word's nearest others from rows of inner products; shared by those who go through
// all of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "support/at.hpp"
#include "support/buffer.hpp"
#include "support/compiler.hpp"
#include "support/word_distances.hpp"

namespace wordferry {

// The words: vectors, and their squared norms, rounded to float. Where `rows` is there, word i has row rows[i] of the
// vectors.
struct Points {
  const float* vectors;
  const float* norms;
  std::int64_t dimensions;
  const std::int64_t* rows = nullptr;

  const float* of(std::int64_t word) const { return vectors + (rows == nullptr ? word : rows[word]) * dimensions; }
  // The true squared distance of two words.
  double square(std::int64_t a, std::int64_t b) const { return exact_square(of(a), of(b), dimensions); }
};

// A word by its squared distance from another one; ties go to the smaller id.
struct RankedWord {
  double square;
  std::int32_t id;
  bool operator<(const RankedWord& other) const {
    return square < other.square || (square == other.square && id < other.id);
  }
};

constexpr float unlimited = std::numeric_limits<float>::infinity();

// For n words, from `first` on, the candidates that can still be among its r nearest. `limits[i]` is an upper bound of
// the r-th smallest true squared distance of word i so far (infinite while fewer than r are known). Tiles may be worked
// on by several threads at once: a word's candidates are touched only under its lock, limits are read at any time.
struct Candidates {
  Candidates(std::int64_t words, std::int64_t nearest, std::int64_t first_word = 0)
      : n(words), r(nearest), first(first_word), capacity(nearest + std::max<std::int64_t>(nearest, 32)),
        counts(at(words), 0), limits(at(words)), locks(at(words)) {
    ids.reserve(at(n * capacity));
    squares.reserve(at(n * capacity));
    for (auto& limit : limits) limit.store(unlimited, std::memory_order_relaxed);
  }

  std::int64_t n, r, first, capacity;
  Buffer<std::int32_t> ids;  // n x capacity
  Buffer<float> squares;     // n x capacity, squared distances as the tile gave them
  std::vector<std::int32_t> counts;
  std::vector<std::atomic<float>> limits;
  std::vector<std::atomic<bool>> locks;  // true while somebody has it
};

// |x|^2 + |y|^2 - 2xy of a tile is off by at most this times |x|^2 + |y|^2: the bound of a float inner product of d
// terms in any order, of the rounded norms, and of putting them together.
inline float product_error(std::int64_t dimensions) {
  return static_cast<float>(dimensions + 16) * 5.9604645e-8F * 1.02F;
}

// The smallest upper bound of a squared distance in each of `groups` groups of columns (k modulo groups). The r-th
// smallest of these is at least the r-th smallest of all, and close to it.
inline void group_minima(const float* WF_RESTRICT products, std::int64_t count, float norm,
                         const float* WF_RESTRICT norms, float error, std::int64_t groups, float* WF_RESTRICT minima) {
  for (std::int64_t g = 0; g < groups; ++g) minima[g] = unlimited;
  for (std::int64_t start = 0; start < count; start += groups) {
    const std::int64_t here = std::min(groups, count - start);
    for (std::int64_t g = 0; g < here; ++g) {
      const float both = norm + norms[start + g];
      const float upper = both - 2.0F * products[start + g] + error * both;
      minima[g] = upper < minima[g] ? upper : minima[g];
    }
  }
}

struct RankedCandidate : RankedWord {
  float tile_square;
};

class SpinLock {
 public:
  explicit SpinLock(std::atomic<bool>& flag) : flag_(flag) {
    while (flag_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  ~SpinLock() { flag_.store(false, std::memory_order_release); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  std::atomic<bool>& flag_;
};

class Selector {
 public:
  Selector(const Points& points, Candidates& candidates)
      : points_(points), candidates_(candidates), ids_(candidates.ids.data()), squares_(candidates.squares.data()),
        counts_(candidates.counts.data()), error_(product_error(points.dimensions)) {
    uppers_.reserve(at(candidates.capacity));
    ranked_.reserve(at(candidates.capacity));
  }

  float error() const { return error_; }

  float limit(std::int32_t word) const { return candidates_.limits[slot(word)].load(std::memory_order_relaxed); }

  bool can_enter(std::int32_t word, std::int32_t other, float square) const {
    return square <= limit(word) + error_ * (points_.norms[word] + points_.norms[other]);
  }

  // Enters `other` among the candidates of `word`; with `once`, not a second time.
  void push(std::int32_t word, std::int32_t other, float square, bool once) {
    const SpinLock lock(candidates_.locks[slot(word)]);
    if (once && holds(word, other)) return;
    if (counts_[slot(word)] == candidates_.capacity) {
      compact(word);
      if (!can_enter(word, other, square)) return;
    }
    const std::int64_t place = base_of(word) + counts_[slot(word)]++;
    ids_[place] = other;
    squares_[place] = square;
  }

  // Drops candidates that are certainly not among the r nearest. Where the tile values cannot tell, true distances do.
  void compact(std::int32_t word) {
    cull(word);
    if (counts_[slot(word)] > (candidates_.r + candidates_.capacity) / 2) {
      rank(word);
      const std::int64_t kept = std::min<std::int64_t>(candidates_.r, std::ssize(ranked_)), base = base_of(word);
      for (std::int64_t k = 0; k < kept; ++k) {
        ids_[base + k] = ranked_[at(k)].id;
        squares_[base + k] = ranked_[at(k)].tile_square;
      }
      counts_[slot(word)] = static_cast<std::int32_t>(kept);
      if (kept == candidates_.r && kept > 0) lower_limit(word, round_up(ranked_[at(kept - 1)].square));
    }
  }

  // Sorts the candidates by (true distance, id) into ranked().
  void rank(std::int32_t word) {
    const std::int64_t base = base_of(word);
    const std::int64_t end = base + counts_[slot(word)];
    ranked_.clear();
    for (std::int64_t k = base; k < std::min(base + ahead, end); ++k) prefetch(ids_[k]);
    for (std::int64_t k = base; k < end; ++k) {
      if (k + ahead < end) prefetch(ids_[k + ahead]);
      const std::int32_t id = ids_[k];
      ranked_.push_back({{points_.square(word, id), id}, squares_[k]});
    }
    std::sort(ranked_.begin(), ranked_.end());
  }

  // The same, without those that are certainly too far, while nobody else enters any.
  void rank_alone(std::int32_t word) {
    const SpinLock lock(candidates_.locks[slot(word)]);
    cull(word);
    rank(word);
  }

  const std::vector<RankedCandidate>& ranked() const { return ranked_; }

  void cull(std::int32_t word) {
    const std::int64_t base = base_of(word);
    const std::int64_t count = counts_[slot(word)];
    if (count < candidates_.r || count == 0 || candidates_.r == 0) return;
    const float norm = points_.norms[word];
    uppers_.clear();
    for (std::int64_t k = base; k < base + count; ++k) {
      uppers_.push_back(squares_[k] + error_ * (norm + points_.norms[ids_[k]]));
    }
    std::nth_element(uppers_.begin(), uppers_.begin() + (candidates_.r - 1), uppers_.end());
    lower_limit(word, uppers_[at(candidates_.r - 1)]);
    std::int64_t kept = base;
    for (std::int64_t k = base; k < base + count; ++k) {
      if (!can_enter(word, ids_[k], squares_[k])) continue;
      ids_[kept] = ids_[k];
      squares_[kept++] = squares_[k];
    }
    counts_[slot(word)] = static_cast<std::int32_t>(kept - base);
  }

  // A first limit for a word that has none, from the row of its first tile, which may hold the word itself.
  void first_limit(std::int32_t word, const float* products, std::int64_t count, const float* norms) {
    const std::int64_t needed = candidates_.r + 1;  // one more, because the word itself may be the smallest
    if (count < needed) return;
    const std::int64_t groups = std::min(4 * needed, count);
    uppers_.resize(at(groups));
    group_minima(products, count, points_.norms[word], norms, error_, groups, uppers_.data());
    std::nth_element(uppers_.begin(), uppers_.begin() + (needed - 1), uppers_.end());
    const SpinLock lock(candidates_.locks[slot(word)]);
    lower_limit(word, uppers_[at(needed - 1)]);
  }

 private:
  static constexpr std::int64_t ahead = 2;

  std::size_t slot(std::int32_t word) const { return at(word - candidates_.first); }
  std::int64_t base_of(std::int32_t word) const { return (word - candidates_.first) * candidates_.capacity; }

  static float round_up(double value) {
    const auto rounded = static_cast<float>(value);
    return static_cast<double>(rounded) < value ? std::nextafter(rounded, unlimited) : rounded;
  }

  void lower_limit(std::int32_t word, float value) {
    if (value < limit(word)) candidates_.limits[slot(word)].store(value, std::memory_order_relaxed);
  }

  bool holds(std::int32_t word, std::int32_t other) const {
    const std::int32_t* ids = ids_ + base_of(word);
    return std::find(ids, ids + counts_[slot(word)], other) != ids + counts_[slot(word)];
  }

  void prefetch(std::int32_t word) const {
    const char* from = reinterpret_cast<const char*>(points_.of(word));
    const auto bytes = points_.dimensions * static_cast<std::int64_t>(sizeof(float));
    for (std::int64_t k = 0; k < bytes; k += 64) prefetch_line(from + k);
  }

  const Points& points_;
  Candidates& candidates_;
  std::int32_t* ids_;
  float* squares_;
  std::int32_t* counts_;
  float error_;
  std::vector<float> uppers_;
  std::vector<RankedCandidate> ranked_;
};

constexpr std::int64_t scan_width = 128;  // pairs that are looked at together

// What of a row of inner products deserves a closer look.
struct RowScan {
  float norm;           // of the row's word
  float error;          // of products, see product_error
  const float* norms;   // of the columns
  const float* limits;  // likewise: no pair further than this, but for the rounding, is of use to the column
};

// Squared distances of up to scan_width pairs of one row, which of them deserve a closer look, and the sum of the
// distances where it is asked for. Plain lines: squares[k] = norm + norms[k] - 2 products[k]; sum +=
// sqrt(max(squares[k], 0)); flagged are pairs no further than either limit and, for the sum, those that lose digits.
template <bool Sum>
double scan_segment(const float* WF_RESTRICT products, std::int64_t count, float norm, float limit,
                    const float* WF_RESTRICT norms, const float* WF_RESTRICT limits, float error,
                    float* WF_RESTRICT squares, std::uint8_t* WF_RESTRICT flags) {
  float roots[scan_width];
  for (std::int64_t k = 0; k < count; ++k) {
    const float both = norm + norms[k];
    const float square = both - 2.0F * products[k];
    const float reach = (limit > limits[k] ? limit : limits[k]) + error * both;
    const float close = Sum ? cancellation * both : reach;
    squares[k] = square;
    if constexpr (Sum) roots[k] = std::sqrt(square > 0.0F ? square : 0.0F);
    flags[k] = square <= (reach > close ? reach : close);
  }
  double sum = 0;
  if constexpr (Sum) {
    for (std::int64_t k = count; k < scan_width; ++k) roots[k] = 0;
    for (std::int64_t half = scan_width / 2; half >= lane_width; half /= 2) {
      for (std::int64_t k = 0; k < half; ++k) roots[k] += roots[k + half];
    }
    for (std::int64_t k = 0; k < lane_width; ++k) sum += static_cast<double>(roots[k]);
  }
  return sum;
}

static_assert(std::endian::native == std::endian::little, "flags are read eight at a time, lowest byte first");

// Goes through a row of products: closer(column, square) looks at flagged pairs and answers what it adds to the sum.
// limit() is that of the row's word, which may fall on the way.
template <bool Sum, class Limit, class Closer>
double scan_row(const RowScan& row, const float* products, std::int64_t columns, const Limit& limit,
                const Closer& closer) {
  float squares[scan_width];
  alignas(8) std::uint8_t flags[scan_width] = {};
  double sum = 0;
  for (std::int64_t start = 0; start < columns; start += scan_width) {
    const std::int64_t count = std::min(scan_width, columns - start);
    sum += scan_segment<Sum>(products + start, count, row.norm, limit(), row.norms + start, row.limits + start,
                             row.error, squares, flags);
    std::fill(flags + count, flags + (count + 7) / 8 * 8, std::uint8_t{0});
    for (std::int64_t eighth = 0; eighth < count; eighth += 8) {
      std::uint64_t eight;  // one flag per byte, lowest byte first
      std::memcpy(&eight, flags + eighth, 8);
      for (; eight != 0; eight &= eight - 1) {
        const std::int64_t k = eighth + std::countr_zero(eight) / 8;
        sum += closer(start + k, squares[k]);
      }
    }
  }
  return sum;
}

// What a pair adds to the sum that scan_row has its rounded square in: nothing, but where too few digits are left.
inline double correction(const Points& points, std::int64_t a, std::int64_t b, float square, float both) {
  if (a != b && !(square <= cancellation * both)) return 0;
  return std::sqrt(points.square(a, b)) - static_cast<double>(std::sqrt(square > 0.0F ? square : 0.0F));
}

}  // namespace wordferry
