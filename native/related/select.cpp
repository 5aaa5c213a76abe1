#include "related/related.hpp"

#include <algorithm>
#include <cmath>

#include "related/selector.hpp"
#include "support/at.hpp"

namespace wordferry {

namespace {

template <bool Sum>
double scan_tile(const Tile& tile, const Points& points, Candidates& candidates) {
  Selector selector(points, candidates);
  std::vector<float> norms(at(tile.columns)), limits(at(tile.columns), -unlimited);
  for (std::size_t k = 0; k < norms.size(); ++k) {
    norms[k] = points.norms[tile.column_ids[k]];
    if (tile.mirror) limits[k] = selector.limit(tile.column_ids[k]);
  }
  double total = 0;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int32_t row = tile.row_ids[i];
    const float* products = tile.products + i * tile.columns;
    if (selector.limit(row) == unlimited) selector.first_limit(row, products, tile.columns, norms.data());
    const auto closer = [&](std::int64_t k, float square) {
      const std::int32_t column = tile.column_ids[k];
      const double added = Sum ? correction(points, row, column, square, points.norms[row] + norms[at(k)]) : 0;
      if (row == column) return added;
      if (selector.can_enter(row, column, square)) selector.push(row, column, square, !Sum);
      if (tile.mirror && selector.can_enter(column, row, square)) {
        selector.push(column, row, square, !Sum);
        limits[at(k)] = selector.limit(column);
      }
      return added;
    };
    const RowScan scan{points.norms[row], selector.error(), norms.data(), limits.data()};
    total += scan_row<Sum>(scan, products, tile.columns, [&] { return selector.limit(row); }, closer);
  }
  return total;
}

}  // namespace

Candidates::Candidates(std::int64_t words, std::int64_t nearest, std::int64_t first_word)
    : n(words), r(nearest), first(first_word), capacity(nearest + std::max<std::int64_t>(nearest, 32)),
      counts(at(words), 0), limits(at(words)), locks(at(words)) {
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

float product_error(std::int64_t dimensions) { return static_cast<float>(dimensions + 16) * 5.9604645e-8F * 1.02F; }

double select_from_tile(const Tile& tile, const Points& points, bool overlapping, Candidates& candidates) {
  return (overlapping ? scan_tile<false> : scan_tile<true>)(tile, points, candidates);
}

void rank_candidates(const Points& points, Candidates& candidates, const std::int32_t* words, std::int64_t count,
                     int threads, std::int32_t* own, double* distances, Watch& watch) {
  constexpr std::int64_t word_block = 256;
  const std::int64_t blocks = (count + word_block - 1) / word_block;
  const auto body = [&](std::int64_t block, int) {
    Selector selector(points, candidates);
    const std::int64_t from = block * word_block, to = std::min(count, from + word_block);
    for (std::int64_t i = from; i < to; ++i) {
      selector.rank_alone(words[i]);
      const auto& ranked = selector.ranked();
      for (std::int64_t k = 0; k < candidates.r; ++k) {
        const bool known = k < std::ssize(ranked);
        own[i * candidates.r + k] = known ? ranked[at(k)].id : -1;
        distances[i * candidates.r + k] = known ? std::sqrt(ranked[at(k)].square) : HUGE_VAL;
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
