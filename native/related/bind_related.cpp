#include "support/bind.hpp"
#include "related/kmeans.hpp"
#include "related/related.hpp"

namespace wordferry {

namespace {

using Vectors = In<float, 2>;
using Ids = In<std::int32_t>;

Points points_of(const Vectors& vectors, const In<float>& norms) {
  return {vectors.data(), norms.data(), static_cast<std::int64_t>(vectors.shape(1))};
}

Candidates candidates_of(const Out<std::int32_t, 2>& ids, const Out<float, 2>& squares, const Out<std::int32_t>& counts,
                         const Out<float>& limits, const Out<std::uint8_t>& locks, std::int64_t r) {
  return {ids.data(),    squares.data(), counts.data(), limits.data(), locks.data(), static_cast<std::int64_t>(ids.shape(1)), r};
}

double select_tile(const In<float, 2>& products, const Ids& row_ids, const Ids& column_ids, bool mirror, bool overlapping,
                   const Vectors& vectors, const In<float>& norms, const Out<std::int32_t, 2>& ids,
                   const Out<float, 2>& squares, const Out<std::int32_t>& counts, const Out<float>& limits,
                   const Out<std::uint8_t>& locks, std::int64_t r) {
  const Tile tile{products.data(),
                  row_ids.data(),
                  column_ids.data(),
                  static_cast<std::int64_t>(products.shape(0)),
                  static_cast<std::int64_t>(products.shape(1)),
                  mirror};
  const Points points = points_of(vectors, norms);
  const Candidates candidates = candidates_of(ids, squares, counts, limits, locks, r);
  const nb::gil_scoped_release release;
  if (!overlapping) return select_from_tile(tile, points, candidates);
  select_from_gathered_tile(tile, points, candidates);
  return 0;
}

void rank(const Vectors& vectors, const In<float>& norms, const Out<std::int32_t, 2>& ids, const Out<float, 2>& squares,
          const Out<std::int32_t>& counts, const Out<float>& limits, const Out<std::uint8_t>& locks, const Ids& words,
          int threads, const Out<std::int32_t, 2>& own, const Out<double, 2>& distances) {
  const auto r = static_cast<std::int64_t>(own.shape(1));
  run_native([&](Watch& watch) {
    rank_candidates(points_of(vectors, norms), candidates_of(ids, squares, counts, limits, locks, r), words.data(),
                    static_cast<std::int64_t>(words.shape(0)), threads, own.data(), distances.data(), watch);
  });
}

void distances_of_pairs(const Vectors& a, const Vectors& b, const Ids& rows, const Ids& columns, int threads,
                        const Out<double>& out) {
  run_native([&](Watch& watch) {
    pair_distances(a.data(), b.data(), static_cast<std::int64_t>(a.shape(1)), rows.data(), columns.data(),
                   static_cast<std::int64_t>(rows.shape(0)), threads, out.data(), watch);
  });
}

}  // namespace

void bind_related(nb::module_& m) {
  m.def("related_select_tile", &select_tile, nb::arg("products").noconvert(), nb::arg("row_ids").noconvert(),
        nb::arg("column_ids").noconvert(), nb::arg("mirror"), nb::arg("overlapping"), nb::arg("vectors").noconvert(),
        nb::arg("norms").noconvert(), nb::arg("ids").noconvert(), nb::arg("squares").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("limits").noconvert(), nb::arg("locks").noconvert(), nb::arg("r"));
  m.def("product_error", &product_error, nb::arg("dimensions"));
  m.def("related_rank", &rank, nb::arg("vectors").noconvert(), nb::arg("norms").noconvert(), nb::arg("ids").noconvert(),
        nb::arg("squares").noconvert(), nb::arg("counts").noconvert(), nb::arg("limits").noconvert(), nb::arg("locks").noconvert(), nb::arg("words").noconvert(),
        nb::arg("threads"), nb::arg("own").noconvert(), nb::arg("distances").noconvert());
  m.def("pair_distances", &distances_of_pairs, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        nb::arg("rows").noconvert(), nb::arg("columns").noconvert(), nb::arg("threads"), nb::arg("out").noconvert());
  m.def(
      "nearest_centroids",
      [](const In<float, 2>& products, const In<float>& half_norms, const Out<std::int32_t, 2>& out) {
        const nb::gil_scoped_release release;
        nearest_centroids(products.data(), half_norms.data(), static_cast<std::int64_t>(products.shape(0)),
                          static_cast<std::int64_t>(products.shape(1)), static_cast<std::int64_t>(out.shape(1)),
                          out.data());
      },
      nb::arg("products").noconvert(), nb::arg("half_norms").noconvert(), nb::arg("out").noconvert());
  m.def(
      "related_union_indptr",
      [](const In<std::int32_t, 2>& own, const Out<std::int64_t>& indptr) {
        run_native([&](Watch& watch) {
          union_indptr(own.data(), static_cast<std::int64_t>(own.shape(0)), static_cast<std::int64_t>(own.shape(1)),
                       indptr.data(), watch);
        });
      },
      nb::arg("own").noconvert(), nb::arg("indptr").noconvert());
  m.def(
      "related_union_rows",
      [](const In<std::int32_t, 2>& own, const In<float, 2>& distances, const In<std::int64_t>& indptr,
         const Out<std::int32_t>& indices, const Out<float>& data) {
        run_native([&](Watch& watch) {
          union_rows(own.data(), distances.data(), static_cast<std::int64_t>(own.shape(0)),
                     static_cast<std::int64_t>(own.shape(1)), indptr.data(), indices.data(), data.data(), watch);
        });
      },
      nb::arg("own").noconvert(), nb::arg("distances").noconvert(), nb::arg("indptr").noconvert(),
      nb::arg("indices").noconvert(), nb::arg("data").noconvert());
}

}  // namespace wordferry
