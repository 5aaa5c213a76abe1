#include "related/related.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "related/scan.hpp"
#include "support/at.hpp"
#include "support/compiler.hpp"
#include "support/word_distances.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t segment = scan_width;  // columns looked at before the row's limit is read again
constexpr std::int64_t word_block = 256;
static_assert(std::endian::native == std::endian::little, "flags are read eight at a time, lowest byte first");

float round_up(double value) {
  const auto rounded = static_cast<float>(value);
  return static_cast<double>(rounded) < value ? std::nextafter(rounded, unlimited) : rounded;
}

// As scan_segment, without the sum and without regard to close pairs.
void flag_segment(const float* WF_RESTRICT products, std::int64_t count, float norm, float limit,
                  const float* WF_RESTRICT norms, const float* WF_RESTRICT limits, float error,
                  float* WF_RESTRICT squares, std::uint8_t* WF_RESTRICT flags) {
  for (std::int64_t k = 0; k < count; ++k) {
    const float both = norm + norms[k];
    const float square = both - 2.0F * products[k];
    const float reach = (limit > limits[k] ? limit : limits[k]) + error * both;
    squares[k] = square;
    flags[k] = square <= reach;
  }
}

// The smallest upper bound of a squared distance in each of `groups` groups of columns (k modulo groups). The r-th
// smallest of these is at least the r-th smallest of all, and close to it.
void group_minima(const float* WF_RESTRICT products, std::int64_t count, float norm, const float* WF_RESTRICT norms,
                  float error, std::int64_t groups, float* WF_RESTRICT minima) {
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
    uppers_.reserve(static_cast<std::size_t>(candidates.capacity));
    ranked_.reserve(static_cast<std::size_t>(candidates.capacity));
  }

  float error() const { return error_; }

  float limit(std::int32_t word) const { return candidates_.limits[at(word)].load(std::memory_order_relaxed); }

  bool can_enter(std::int32_t word, std::int32_t other, float square) const {
    return square <= limit(word) + error_ * (points_.norms[word] + points_.norms[other]);
  }

  // Enters `other` among the candidates of `word`; with `once`, not a second time.
  void push(std::int32_t word, std::int32_t other, float square, bool once) {
    const SpinLock lock(candidates_.locks[at(word)]);
    if (once && holds(word, other)) return;
    if (counts_[word] == candidates_.capacity) {
      compact(word);
      if (!can_enter(word, other, square)) return;
    }
    const std::int64_t place = word * candidates_.capacity + counts_[word]++;
    ids_[place] = other;
    squares_[place] = square;
  }

  // Drops candidates that are certainly not among the r nearest. Where the tile values cannot tell, true distances do.
  void compact(std::int32_t word) {
    cull(word);
    if (counts_[word] > (candidates_.r + candidates_.capacity) / 2) {
      rank(word);
      const auto kept = std::min<std::int64_t>(candidates_.r, static_cast<std::int64_t>(ranked_.size()));
      const std::int64_t base = word * candidates_.capacity;
      for (std::int64_t k = 0; k < kept; ++k) {
        ids_[base + k] = ranked_[static_cast<std::size_t>(k)].id;
        squares_[base + k] = ranked_[static_cast<std::size_t>(k)].tile_square;
      }
      counts_[word] = static_cast<std::int32_t>(kept);
      if (kept == candidates_.r && kept > 0) {
        const float last = round_up(ranked_[static_cast<std::size_t>(kept - 1)].square);
        lower_limit(word, last);
      }
    }
  }

  // Sorts the candidates by (true distance, id) into ranked().
  void rank(std::int32_t word) {
    const float* vector = points_.vectors + word * points_.dimensions;
    const std::int64_t base = word * candidates_.capacity;
    const std::int64_t end = base + counts_[word];
    ranked_.clear();
    for (std::int64_t k = base; k < std::min(base + ahead, end); ++k) prefetch(ids_[k]);
    for (std::int64_t k = base; k < end; ++k) {
      if (k + ahead < end) prefetch(ids_[k + ahead]);
      const std::int32_t id = ids_[k];
      const double square = exact_square(vector, points_.vectors + id * points_.dimensions, points_.dimensions);
      ranked_.push_back({{square, id}, squares_[k]});
    }
    std::sort(ranked_.begin(), ranked_.end());
  }

  // The same, without those that are certainly too far, while nobody else enters any.
  void rank_alone(std::int32_t word) {
    const SpinLock lock(candidates_.locks[at(word)]);
    cull(word);
    rank(word);
  }

  const std::vector<RankedCandidate>& ranked() const { return ranked_; }

  void cull(std::int32_t word) {
    const std::int64_t base = word * candidates_.capacity;
    const std::int64_t count = counts_[word];
    if (count < candidates_.r || count == 0 || candidates_.r == 0) return;
    const float norm = points_.norms[word];
    uppers_.clear();
    for (std::int64_t k = base; k < base + count; ++k) {
      uppers_.push_back(squares_[k] + error_ * (norm + points_.norms[ids_[k]]));
    }
    std::nth_element(uppers_.begin(), uppers_.begin() + (candidates_.r - 1), uppers_.end());
    lower_limit(word, uppers_[static_cast<std::size_t>(candidates_.r - 1)]);
    std::int64_t kept = base;
    for (std::int64_t k = base; k < base + count; ++k) {
      if (!can_enter(word, ids_[k], squares_[k])) continue;
      ids_[kept] = ids_[k];
      squares_[kept++] = squares_[k];
    }
    counts_[word] = static_cast<std::int32_t>(kept - base);
  }

  // A first limit for a word that has none, from the row of its first tile, which may hold the word itself.
  void first_limit(std::int32_t word, const float* products, std::int64_t count, const float* norms) {
    const std::int64_t needed = candidates_.r + 1;  // one more, because the word itself may be the smallest
    if (count < needed) return;
    const std::int64_t groups = std::min(4 * needed, count);
    uppers_.resize(static_cast<std::size_t>(groups));
    group_minima(products, count, points_.norms[word], norms, error_, groups, uppers_.data());
    std::nth_element(uppers_.begin(), uppers_.begin() + (needed - 1), uppers_.end());
    const SpinLock lock(candidates_.locks[at(word)]);
    lower_limit(word, uppers_[static_cast<std::size_t>(needed - 1)]);
  }

 private:
  static constexpr std::int64_t ahead = 2;

  void lower_limit(std::int32_t word, float value) {
    if (value < limit(word)) candidates_.limits[at(word)].store(value, std::memory_order_relaxed);
  }

  bool holds(std::int32_t word, std::int32_t other) const {
    const std::int32_t* ids = ids_ + word * candidates_.capacity;
    return std::find(ids, ids + counts_[word], other) != ids + counts_[word];
  }

  void prefetch(std::int32_t word) const {
    const char* from = reinterpret_cast<const char*>(points_.vectors + word * points_.dimensions);
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

// What a flagged pair is for: its exact share of the sum, and a place among the candidates of either word.
template <bool Sum>
double look_closer(std::int32_t row, std::int32_t column, float square, std::int64_t k, const Tile& tile,
                   const Points& points, Selector& selector, float* limits) {
  double correction = 0;
  const float both = points.norms[row] + points.norms[column];
  if constexpr (Sum) {
    if (row == column || square <= cancellation * both) {
      const auto d = points.dimensions;
      const double exact = std::sqrt(exact_square(points.vectors + row * d, points.vectors + column * d, d));
      correction = exact - static_cast<double>(std::sqrt(square > 0.0F ? square : 0.0F));
    }
  }
  if (row == column) return correction;
  if (selector.can_enter(row, column, square)) selector.push(row, column, square, !Sum);
  if (tile.mirror && selector.can_enter(column, row, square)) {
    selector.push(column, row, square, !Sum);
    limits[k] = selector.limit(column);
  }
  return correction;
}

template <bool Sum>
double scan_tile(const Tile& tile, const Points& points, Candidates& candidates) {
  Selector selector(points, candidates);
  const auto columns = static_cast<std::size_t>(tile.columns);
  std::vector<float> norms(columns), limits(columns, -unlimited);
  for (std::size_t k = 0; k < columns; ++k) {
    norms[k] = points.norms[tile.column_ids[k]];
    if (tile.mirror) limits[k] = selector.limit(tile.column_ids[k]);
  }
  float squares[segment];
  alignas(8) std::uint8_t flags[segment] = {};
  double total = 0;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int32_t row = tile.row_ids[i];
    if (selector.limit(row) == unlimited) {
      selector.first_limit(row, tile.products + i * tile.columns, tile.columns, norms.data());
    }
    double row_sum = 0;
    for (std::int64_t start = 0; start < tile.columns; start += segment) {
      const std::int64_t count = std::min(segment, tile.columns - start);
      const float* products = tile.products + i * tile.columns + start;
      const float norm = points.norms[row], limit = selector.limit(row);
      if constexpr (Sum) {
        row_sum += scan_segment(products, count, norm, limit, norms.data() + start, limits.data() + start,
                                selector.error(), squares, flags);
      } else {
        flag_segment(products, count, norm, limit, norms.data() + start, limits.data() + start, selector.error(),
                     squares, flags);
      }
      std::fill(flags + count, flags + (count + 7) / 8 * 8, std::uint8_t{0});
      for (std::int64_t word = 0; word < count; word += 8) {
        std::uint64_t eight;  // one flag per byte, lowest byte first
        std::memcpy(&eight, flags + word, 8);
        for (; eight != 0; eight &= eight - 1) {
          const std::int64_t k = word + std::countr_zero(eight) / 8;
          row_sum += look_closer<Sum>(row, tile.column_ids[start + k], squares[k], start + k, tile, points, selector,
                                      limits.data());
        }
      }
    }
    total += row_sum;
  }
  return total;
}

}  // namespace

Candidates::Candidates(std::int64_t words, std::int64_t nearest)
    : n(words), r(nearest), capacity(nearest + std::max<std::int64_t>(nearest, 32)), counts(at(words), 0),
      limits(at(words)), locks(at(words)) {
  ids.reserve(at(n * capacity));
  squares.reserve(at(n * capacity));
  for (auto& limit : limits) limit.store(unlimited, std::memory_order_relaxed);
}

void Candidates::seed(const std::int32_t* own, const double* own_squares, std::int64_t rows, std::int64_t width) {
  constexpr double above = 1 + 1e-6;
  for (std::int64_t i = 0; i < rows; ++i) {
    const SpinLock lock(locks[at(i)]);
    for (std::int64_t k = 0; k < width; ++k) {
      ids.data()[i * capacity + k] = own[i * width + k];
      squares.data()[i * capacity + k] = static_cast<float>(own_squares[i * width + k]);
    }
    counts[at(i)] = static_cast<std::int32_t>(width);
    if (width == r && r > 0) limits[at(i)].store(static_cast<float>(own_squares[i * width + width - 1] * above));
  }
}

std::vector<std::int32_t> Candidates::sizes() {
  std::vector<std::int32_t> found;
  for (std::int64_t i = 0; i < n; ++i) {
    const SpinLock lock(locks[at(i)]);
    found.push_back(counts[at(i)]);
  }
  return found;
}

bool Candidates::are(std::int64_t word, const std::int32_t* own, std::int64_t width) {
  const SpinLock lock(locks[at(word)]);
  const std::int32_t* mine = ids.data() + word * capacity;
  return counts[at(word)] == width && std::equal(mine, mine + width, own);
}

double scan_segment(const float* WF_RESTRICT products, std::int64_t count, float norm, float limit,
                    const float* WF_RESTRICT norms, const float* WF_RESTRICT limits, float error,
                    float* WF_RESTRICT squares, std::uint8_t* WF_RESTRICT flags) {
  float roots[segment];
  for (std::int64_t k = 0; k < count; ++k) {
    const float both = norm + norms[k];
    const float square = both - 2.0F * products[k];
    const float reach = (limit > limits[k] ? limit : limits[k]) + error * both;
    const float close = cancellation * both;
    squares[k] = square;
    roots[k] = std::sqrt(square > 0.0F ? square : 0.0F);
    flags[k] = square <= (reach > close ? reach : close);
  }
  for (std::int64_t k = count; k < segment; ++k) roots[k] = 0;
  for (std::int64_t half = segment / 2; half >= lane_width; half /= 2) {
    for (std::int64_t k = 0; k < half; ++k) roots[k] += roots[k + half];
  }
  double sum = 0;
  for (std::int64_t k = 0; k < lane_width; ++k) sum += static_cast<double>(roots[k]);
  return sum;
}

float product_error(std::int64_t dimensions) { return static_cast<float>(dimensions + 16) * 5.9604645e-8F * 1.02F; }

double select_from_tile(const Tile& tile, const Points& points, Candidates& candidates) {
  return scan_tile<true>(tile, points, candidates);
}

void select_from_gathered_tile(const Tile& tile, const Points& points, Candidates& candidates) {
  scan_tile<false>(tile, points, candidates);
}

void rank_candidates(const Points& points, Candidates& candidates, const std::int32_t* words, std::int64_t count,
                     int threads, std::int32_t* own, double* distances, Watch& watch) {
  const std::int64_t blocks = (count + word_block - 1) / word_block;
  const auto body = [&](std::int64_t block, int) {
    Selector selector(points, candidates);
    const std::int64_t from = block * word_block, to = std::min(count, from + word_block);
    for (std::int64_t i = from; i < to; ++i) {
      selector.rank_alone(words[i]);
      const auto& ranked = selector.ranked();
      for (std::int64_t k = 0; k < candidates.r; ++k) {
        const std::int64_t place = i * candidates.r + k;
        const bool known = k < static_cast<std::int64_t>(ranked.size());
        own[place] = known ? ranked[static_cast<std::size_t>(k)].id : -1;
        distances[place] =
            known ? std::sqrt(ranked[static_cast<std::size_t>(k)].square) : std::numeric_limits<double>::infinity();
      }
    }
  };
  for_blocks(blocks, threads, body, watch);
}

void pair_distances(const float* a, const float* b, std::int64_t dimensions, const std::int32_t* rows,
                    const std::int32_t* columns, std::int64_t pairs, int threads, double* out, Watch& watch) {
  constexpr std::int64_t block_pairs = 4096;
  const auto body = [&](std::int64_t block, int) {
    for (std::int64_t k = block * block_pairs; k < std::min(pairs, (block + 1) * block_pairs); ++k) {
      out[k] = std::sqrt(exact_square(a + rows[k] * dimensions, b + columns[k] * dimensions, dimensions));
    }
  };
  for_blocks((pairs + block_pairs - 1) / block_pairs, threads, body, watch);
}

}  // namespace wordferry
