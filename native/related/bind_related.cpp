#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <memory>
#include <utility>

#include "related/related.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

using Vectors = In<float, 2>;
using Ids = In<std::int32_t>;

// Vectors and their squared norms, checked once.
class PointsView {
 public:
  PointsView(const Vectors& vectors, const In<float>& norms)
      : points_{vectors.data(), norms.data(), vectors.length(1)}, rows_(vectors.length()), held_(hold(vectors, norms)) {
    const ReleasedGil released;
    const auto is_finite = [](float value) { return std::isfinite(value); };
    require(norms.length() == rows_, "one norm for each vector");
    require_all(vectors, is_finite, "vectors must be finite");
    require_all(norms, is_finite, "norms must be finite");
  }
  const Points& get() const { return points_; }
  std::int64_t rows() const { return rows_; }

 private:
  Points points_;
  std::int64_t rows_;
  Held held_;
};

void make_candidates(Candidates* self, std::int64_t words, std::int64_t r) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  require(words >= 0 && words < most && r >= 0 && r < most / 4,
          "words and r must be whole numbers that fit in 31 bits");
  new (self) Candidates(words, r);
}

void seed(Candidates& self, const In<std::int32_t, 2>& own, const In<double, 2>& squares) {
  const std::int64_t rows = own.length(), width = own.length(1);
  require(squares.length() == rows && squares.length(1) == width, "own and squares must have one shape");
  require(rows <= self.n && width <= self.r, "more lists, or longer ones, than there is room for");
  run_native([&](Watch&) {
    require_range(own, 0, self.n, "a word in a list is not among the words");
    require_all(squares, [](double one) { return one >= 0; }, "squares must not be negative");
    self.seed(own.data(), squares.data(), rows, width);
  });
}

// Which of the first lists still hold what they were seeded with.
void unchanged(Candidates& self, const In<std::int32_t, 2>& own, const Out<bool>& same) {
  const std::int64_t rows = own.length(), width = own.length(1);
  require(rows <= self.n && width <= self.r, "more lists, or longer ones, than there is room for");
  require(same.length() == rows, "a place for each list");
  for (std::int64_t i = 0; i < rows; ++i) same.data()[i] = self.are(i, own.data() + i * width, width);
}

double select_tile(const In<float, 2>& products, const Ids& row_ids, const Ids& column_ids, bool mirror,
                   bool overlapping, const PointsView& points, Candidates& candidates) {
  const Tile tile{products.data(), row_ids.data(), column_ids.data(), products.length(), products.length(1), mirror};
  require(row_ids.length() == tile.rows && column_ids.length() == tile.columns, "one id for each row and column");
  require(points.rows() == candidates.n, "points and candidates must be of the same words");
  double sum = 0;
  run_native([&](Watch&) {
    require_range(row_ids, 0, candidates.n, "an id is not among the words");
    require_range(column_ids, 0, candidates.n, "an id is not among the words");
    sum = select_from_tile(tile, points.get(), overlapping, candidates);
  });
  return sum;
}

std::pair<Made<std::int32_t, 2>, Made<double, 2>> rank(const PointsView& points, Candidates& candidates,
                                                       const Ids& words, int threads) {
  require(points.rows() == candidates.n, "points and candidates must be of the same words");
  auto own = make_array(std::int32_t{-1}, words.length(), candidates.r);
  auto distances = make_array(0.0, words.length(), candidates.r);
  run_native([&](Watch& watch) {
    require_range(words, 0, candidates.n, "an id is not among the words");
    rank_candidates(points.get(), candidates, words.data(), words.length(), thread_limit(threads), own.data(),
                    distances.data(), watch);
  });
  return {own, distances};
}

Made<double> distances_of_pairs(const Vectors& a, const Vectors& b, const Ids& rows, const Ids& columns, int threads) {
  require(a.length(1) == b.length(1), "vectors must have the same dimensions");
  require(rows.length() == columns.length(), "one row and one column for each pair");
  auto out = make_array(0.0, rows.length());
  run_native([&](Watch& watch) {
    require_range(rows, 0, a.length(), "a row that is not there");
    require_range(columns, 0, b.length(), "a column that is not there");
    pair_distances(a.data(), b.data(), a.length(1), rows.data(), columns.data(), rows.length(), thread_limit(threads),
                   out.data(), watch);
  });
  return out;
}

float checked_product_error(std::int64_t dimensions) {
  require(dimensions >= 0 && dimensions < std::int64_t{1} << 31, "dimensions must fit in 31 bits");
  return product_error(dimensions);
}

Made<std::int32_t, 2> centroids_near(const In<float, 2>& products, const In<float>& half_norms, std::int64_t count) {
  require(half_norms.length() == products.length(1), "one norm for each centroid");
  require(count >= 1 && count <= products.length(1), "at least one, and not more than all centroids");
  auto out = make_array(std::int32_t{0}, products.length(), count);
  run_native([&](Watch&) {
    nearest_centroids(products.data(), half_norms.data(), products.length(), products.length(1), count, out.data());
  });
  return out;
}

std::tuple<Made<std::int64_t>, Made<std::int32_t>, Made<float>> graph_of(const In<std::int32_t, 2>& own,
                                                                         const In<float, 2>& distances) {
  const std::int64_t n = own.length(), r = own.length(1);
  require(distances.length() == n && distances.length(1) == r, "own and distances must have one shape");
  WordGraph graph;
  run_native([&](Watch& watch) {
    require_range(own, -1, n, "a word in a list is not among the words");
    graph = union_graph(own.data(), distances.data(), n, r, watch);
  });
  return {as_array(std::move(graph.indptr)), as_array(std::move(graph.indices)), as_array(std::move(graph.data))};
}

}  // namespace

void bind_related(nb::module_& m) {
  nb::class_<PointsView>(m, "Points", "Vectors and their squared norms, checked once; not to be changed after that.")
      .def(nb::init<const Vectors&, const In<float>&>(), "vectors"_in, "norms"_in);
  nb::class_<Candidates>(m, "Candidates", "For each word, what can still be among its r nearest.")
      .def("__init__", &make_candidates, "words"_a, "r"_a)
      .def_ro("r", &Candidates::r)
      .def_prop_ro(
          "counts", [](Candidates& self) { return as_array(self.sizes()); }, nb::rv_policy::automatic)
      .def("seed", &seed, "own"_in, "squares"_in, "Known lists, nearest first, as the candidates of the first words.")
      .def("unchanged", &unchanged, "own"_in, "same"_in, "Which of these lists are as they were seeded.");
  m.def("select_tile", &select_tile, "products"_in, "row_ids"_in, "column_ids"_in, "mirror"_a, "overlapping"_a,
        "points"_a, "candidates"_a, "Select from a tile of inner products; the sum of its distances.");
  m.def("rank_candidates", &rank, "points"_a, "candidates"_a, "words"_in, "threads"_a,
        "Own neighbours of some words by (true distance, id), and these distances; -1 and inf where there are fewer.");
  m.def("pair_distances", &distances_of_pairs, "a"_in, "b"_in, "rows"_in, "columns"_in, "threads"_a,
        "True distances between a[rows] and b[columns], from differences in float64.");
  m.def("product_error", &checked_product_error, "dimensions"_a);
  m.def("nearest_centroids", &centroids_near, "products"_in, "half_norms"_in, "count"_a,
        "The nearest centroids of each row, nearest first, from inner products and half squared norms.");
  m.def("union_graph", &graph_of, "own"_in, "distances"_in,
        "indptr, indices and data of the graph that joins i and j when either lists the other.");
}

}  // namespace wordferry
