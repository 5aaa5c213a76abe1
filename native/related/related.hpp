// Related words: selection of each word's nearest others from tiles of inner products, and the graph made of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/buffer.hpp"
#include "support/pool.hpp"
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
  Candidates(std::int64_t words, std::int64_t r, std::int64_t first = 0);

  // Enters known lists (rows x width, nearest first) as the candidates of the first words, and as their limits where
  // they are whole: a little above, for the rounding.
  void seed(const std::int32_t* own, const double* own_squares, std::int64_t rows, std::int64_t width);

  // How many there are for each word.
  std::vector<std::int32_t> sizes();

  // Whether a word has these candidates in this order, and no others.
  bool are(std::int64_t word, const std::int32_t* own, std::int64_t width);

  std::int64_t n, r, first, capacity;
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

// Selects from a tile and returns the sum of its distances (a word paired with itself left out). Of tiles that overlap
// others only the selection is wanted, without a sum: a word never receives another twice.
double select_from_tile(const Tile& tile, const Points& points, bool overlapping, Candidates& candidates);

// Orders the candidates of some words by (true distance, id); fills own and distances, count x r, with -1 and infinity
// where a word has fewer than r candidates.
void rank_candidates(const Points& points, Candidates& candidates, const std::int32_t* words, std::int64_t count,
                     int threads, std::int32_t* own, double* distances, Watch& watch);

// True distances of pairs of rows of two matrices.
void pair_distances(const float* a, const float* b, std::int64_t dimensions, const std::int32_t* rows,
                    const std::int32_t* columns, std::int64_t pairs, int threads, double* out, Watch& watch);

// A graph by rows, which are sorted.
struct WordGraph {
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<float> data;
};

// The union graph of own lists (n x r, unused places hold -1): i and j are joined when either lists the other.
WordGraph union_graph(const std::int32_t* own, const float* distances, std::int64_t n, std::int64_t r, Watch& watch);

// For each row of inner products with k centroids, the `count` nearest centroids, nearest first, ties by smaller
// number: those with the largest product minus half the centroid's squared norm. out is rows x count.
void nearest_centroids(const float* products, const float* half_norms, std::int64_t rows, std::int64_t centroids,
                       std::int64_t count, std::int32_t* out);

}  // namespace wordferry
