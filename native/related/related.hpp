// Related words: selection of each word's nearest others from tiles of inner products, and the graph made of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "support/buffer.hpp"
#include "support/pool.hpp"

namespace wordferry {

// The words: vectors (n x dimensions) and their squared norms, rounded to float.
struct Points {
  const float* vectors;
  const float* norms;
  std::int64_t dimensions;
};

// For every word, the candidates that can still be among its r nearest. `limits[i]` is an upper bound of the r-th
// smallest true squared distance of word i so far (infinite while fewer than r are known). Tiles may be worked on by
// several threads at once: a word's candidates are touched only under its lock, limits are read at any time.
struct Candidates {
  Candidates(std::int64_t words, std::int64_t r);

  // Enters known lists (rows x width, nearest first) as the candidates of the first words, and as their limits where
  // they are whole: a little above, for the rounding.
  void seed(const std::int32_t* own, const double* own_squares, std::int64_t rows, std::int64_t width);

  // How many there are for each word.
  std::vector<std::int32_t> sizes();

  // Whether a word has these candidates in this order, and no others.
  bool are(std::int64_t word, const std::int32_t* own, std::int64_t width);

  std::int64_t n, r, capacity;
  Buffer<std::int32_t> ids;  // n x capacity
  Buffer<float> squares;     // n x capacity, squared distances as the tile gave them
  std::vector<std::int32_t> counts;
  std::vector<std::atomic<float>> limits;
  std::vector<std::atomic<bool>> locks;  // true while somebody has it
};

// One tile of inner products between the words row_ids and column_ids. With `mirror`, columns receive rows too.
struct Tile {
  const float* products;
  const std::int32_t* row_ids;
  const std::int32_t* column_ids;
  std::int64_t rows, columns;
  bool mirror;
};

// |x|^2 + |y|^2 - 2xy of a tile is off by at most this times |x|^2 + |y|^2: the bound of a float inner product of d
// terms in any order, of the rounded norms, and of putting them together.
float product_error(std::int64_t dimensions);

// Selects from a tile and returns the sum of its distances (a word paired with itself left out).
double select_from_tile(const Tile& tile, const Points& points, Candidates& candidates);

// As above for tiles that overlap others, where only the selection is wanted: a word never receives another twice.
void select_from_gathered_tile(const Tile& tile, const Points& points, Candidates& candidates);

// Orders the candidates of some words by (true distance, id); fills own and distances, count x r, with -1 and infinity
// where a word has fewer than r candidates.
void rank_candidates(const Points& points, Candidates& candidates, const std::int32_t* words, std::int64_t count,
                     int threads, std::int32_t* own, double* distances, Watch& watch);

// True distances of pairs of rows of two matrices.
void pair_distances(const float* a, const float* b, std::int64_t dimensions, const std::int32_t* rows,
                    const std::int32_t* columns, std::int64_t pairs, int threads, double* out, Watch& watch);

// The union graph of own lists (n x r): indptr first (n + 1), then the sorted rows. Unused places hold -1.
void union_indptr(const std::int32_t* own, std::int64_t n, std::int64_t r, std::int64_t* indptr, Watch& watch);
void union_rows(const std::int32_t* own, const float* distances, std::int64_t n, std::int64_t r,
                const std::int64_t* indptr, std::int32_t* indices, float* data, Watch& watch);

}  // namespace wordferry
