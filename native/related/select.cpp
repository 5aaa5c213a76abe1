// What can be among the nearest words of each word, selected from tiles of inner products and then ranked.
#include <algorithm>
#include <cmath>
#include <utility>

#include "related/selector.hpp"
#include "support/at.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

// Vectors and their squared norms, checked once.
struct PointsView : Points {
  PointsView(const In<float, 2>& all, const In<float>& squares)
      : Points{all.data(), squares.data(), all.length(1)}, words(all.length()), held(hold(all, squares)) {
    const ReleasedGil released;
    const auto is_finite = [](float value) { return std::isfinite(value); };
    require(squares.length() == words, "one norm for each vector");
    require_all(all, is_finite, "vectors must be finite");
    require_all(squares, is_finite, "norms must be finite");
  }

  std::int64_t words;
  Held held;
};

// One tile of inner products between the words row_ids and column_ids. With `mirror`, columns receive rows too.
struct Tile {
  const float* products;
  const std::int32_t* row_ids;
  const std::int32_t* column_ids;
  std::int64_t rows, columns;
  bool mirror;
};

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

void make_candidates(Candidates* self, std::int64_t words, std::int64_t r) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  require(words >= 0 && words < most && r >= 0 && r < most / 4,
          "words and r must be whole numbers that fit in 31 bits");
  new (self) Candidates(words, r);
}

// Enters known lists (nearest first) as the candidates of the first words, and as their limits where they are whole: a
// little above, for the rounding.
void seed(Candidates& self, const In<std::int32_t, 2>& own, const In<double, 2>& squares) {
  constexpr double above = 1 + 1e-6;
  const std::int64_t rows = own.length(), width = own.length(1);
  require(squares.length() == rows && squares.length(1) == width, "own and squares must have one shape");
  require(rows <= self.n && width <= self.r, "more lists, or longer ones, than there is room for");
  run_native([&](Watch&) {
    require_range(own, 0, self.n, "a word in a list is not among the words");
    require_all(squares, [](double one) { return one >= 0; }, "squares must not be negative");
    for (std::int64_t i = 0; i < rows; ++i) {
      const SpinLock lock(self.locks[at(i)]);
      const double* const known = squares.data() + i * width;
      std::copy_n(own.data() + i * width, width, self.ids.data() + i * self.capacity);
      for (std::int64_t k = 0; k < width; ++k) {
        self.squares.data()[i * self.capacity + k] = static_cast<float>(known[k]);
      }
      self.counts[at(i)] = static_cast<std::int32_t>(width);
      if (width == self.r && width > 0) self.limits[at(i)].store(static_cast<float>(known[width - 1] * above));
    }
  });
}

// Which of the first lists still hold what they were seeded with, in this order, and nothing else.
void unchanged(Candidates& self, const In<std::int32_t, 2>& own, const Out<bool>& same) {
  const std::int64_t rows = own.length(), width = own.length(1);
  require(rows <= self.n && width <= self.r, "more lists, or longer ones, than there is room for");
  require(same.length() == rows, "a place for each list");
  for (std::int64_t i = 0; i < rows; ++i) {
    const SpinLock lock(self.locks[at(i)]);
    const std::int32_t* const mine = self.ids.data() + i * self.capacity;
    same.data()[i] = self.counts[at(i)] == width && std::equal(mine, mine + width, own.data() + i * width);
  }
}

// How many there are for each word.
Made<std::int32_t> counts_of(Candidates& self) {
  auto counts = make_array(std::int32_t{0}, self.n);
  for (std::int64_t i = 0; i < self.n; ++i) {
    const SpinLock lock(self.locks[at(i)]);
    counts.data()[i] = self.counts[at(i)];
  }
  return counts;
}

// Selects from a tile and returns the sum of its distances (a word paired with itself left out). Of tiles that overlap
// others only the selection is wanted, without a sum: a word never receives another twice.
double select_tile(const In<float, 2>& products, const In<std::int32_t>& row_ids, const In<std::int32_t>& column_ids,
                   bool mirror, bool overlapping, const PointsView& points, Candidates& candidates) {
  const Tile tile{products.data(), row_ids.data(), column_ids.data(), products.length(), products.length(1), mirror};
  require(row_ids.length() == tile.rows && column_ids.length() == tile.columns, "one id for each row and column");
  require(points.words == candidates.n, "points and candidates must be of the same words");
  double sum = 0;
  run_native([&](Watch&) {
    require_range(row_ids, 0, candidates.n, "an id is not among the words");
    require_range(column_ids, 0, candidates.n, "an id is not among the words");
    sum = (overlapping ? scan_tile<false> : scan_tile<true>)(tile, points, candidates);
  });
  return sum;
}

// Orders the candidates of some words by (true distance, id), with -1 and infinity where a word has fewer than r.
std::pair<Made<std::int32_t, 2>, Made<double, 2>> rank_candidates(const PointsView& points, Candidates& candidates,
                                                                  const In<std::int32_t>& words, int threads) {
  constexpr std::int64_t word_block = 256;
  require(points.words == candidates.n, "points and candidates must be of the same words");
  const std::int64_t r = candidates.r;
  auto own = make_array(std::int32_t{-1}, words.length(), r);
  auto distances = make_array(HUGE_VAL, words.length(), r);
  run_native([&](Watch& watch) {
    require_range(words, 0, candidates.n, "an id is not among the words");
    for_ranges(words.length(), word_block, thread_limit(threads), watch, [&](std::int64_t i, std::int64_t end, int) {
      Selector selector(points, candidates);
      for (; i < end; ++i) {
        selector.rank_alone(words.data()[i]);
        const auto& ranked = selector.ranked();
        for (std::int64_t k = 0; k < std::min<std::int64_t>(r, std::ssize(ranked)); ++k) {
          own.data()[i * r + k] = ranked[at(k)].id;
          distances.data()[i * r + k] = std::sqrt(ranked[at(k)].square);
        }
      }
    });
  });
  return {own, distances};
}

// True distances of pairs of rows of two matrices.
Made<double> pair_distances(const In<float, 2>& a, const In<float, 2>& b, const In<std::int32_t>& rows,
                            const In<std::int32_t>& columns, int threads) {
  constexpr std::int64_t block_pairs = 4096;
  const std::int64_t dimensions = a.length(1);
  require(b.length(1) == dimensions, "vectors must have the same dimensions");
  require(rows.length() == columns.length(), "one row and one column for each pair");
  auto out = make_array(0.0, rows.length());
  run_native([&](Watch& watch) {
    require_range(rows, 0, a.length(), "a row that is not there");
    require_range(columns, 0, b.length(), "a column that is not there");
    for_ranges(rows.length(), block_pairs, thread_limit(threads), watch, [&](std::int64_t k, std::int64_t end, int) {
      for (; k < end; ++k) {
        const float* const one = a.data() + rows.data()[k] * dimensions;
        out.data()[k] = std::sqrt(exact_square(one, b.data() + columns.data()[k] * dimensions, dimensions));
      }
    });
  });
  return out;
}

float checked_product_error(std::int64_t dimensions) {
  require(dimensions >= 0 && dimensions < std::int64_t{1} << 31, "dimensions must fit in 31 bits");
  return product_error(dimensions);
}

}  // namespace

void bind_related(nb::module_& m) {
  nb::class_<PointsView>(m, "Points", "Vectors and their squared norms, checked once; not to be changed after that.")
      .def(nb::init<const In<float, 2>&, const In<float>&>(), "vectors"_in, "norms"_in);
  nb::class_<Candidates>(m, "Candidates", "For each word, what can still be among its r nearest.")
      .def("__init__", &make_candidates, "words"_a, "r"_a)
      .def_ro("r", &Candidates::r)
      .def_prop_ro("counts", &counts_of, nb::rv_policy::automatic)
      .def("seed", &seed, "own"_in, "squares"_in, "Known lists, nearest first, as the candidates of the first words.")
      .def("unchanged", &unchanged, "own"_in, "same"_in, "Which of these lists are as they were seeded.");
  m.def("select_tile", &select_tile, "products"_in, "row_ids"_in, "column_ids"_in, "mirror"_a, "overlapping"_a,
        "points"_a, "candidates"_a, "Select from a tile of inner products; the sum of its distances.");
  m.def("rank_candidates", &rank_candidates, "points"_a, "candidates"_a, "words"_in, "threads"_a,
        "Own neighbours of some words by (true distance, id), and these distances; -1 and inf where there are fewer.");
  m.def("pair_distances", &pair_distances, "a"_in, "b"_in, "rows"_in, "columns"_in, "threads"_a,
        "True distances between a[rows] and b[columns], from differences in float64.");
  m.def("product_error", &checked_product_error, "dimensions"_a);
}

}  // namespace wordferry
