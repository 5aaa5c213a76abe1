#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "relaxed/dense.hpp"
#include "relaxed/pairs.hpp"
#include "relaxed/panel.hpp"
#include "relaxed/topk.hpp"
#include "support/bind.hpp"
#include "support/view.hpp"
#include "support/word_distances.hpp"

namespace wordferry {

namespace {

using Progress = nb::object;

void sums(const FloatView& panel, const FloatView& pass, const FloatView& graph, float rest, PanelKind kind,
          const Matrix& out, bool transposed, bool combine, bool lower, int threads, const Progress& progress) {
  const bool product = kind == PanelKind::product;
  require(panel.columns() == pass.columns() && (product || graph.rows() == pass.columns()), "words must agree");
  require(product || graph.columns() == pass.columns(), "the graph must be square");
  const std::int64_t rows = out.length(transposed ? 1 : 0), columns = out.length(transposed ? 0 : 1);
  require(rows == pass.rows() && columns == panel.rows(), "out has another shape than the documents");
  require(!lower || rows == columns, "lower is for a square matrix");
  const std::int64_t words = product ? std::max(panel.largest(), pass.largest()) + std::int64_t{1} : pass.columns();
  const PanelJob job{panel.get(),     pass.get(), graph.get(), rest,  kind, out.data(),
                     row_stride(out), transposed, combine,     lower, words};
  run_native([&](Watch& watch) { panel_sums(job, thread_limit(threads), watch); }, progress,
             panel.rows() * pass.rows());
}

void symmetric(const Matrix& values, int threads, bool from_lower) {
  require(values.shape(0) == values.shape(1), "the matrix must be square");
  const std::int64_t stride = row_stride(values);
  run_native([&](Watch& watch) {
    make_symmetric(values.data(), values.length(), stride, from_lower, thread_limit(threads), watch);
  });
}

void larger_transposed(const Matrix& out, const Matrix& other, int threads) {
  require(out.shape(0) == other.shape(1) && out.shape(1) == other.shape(0), "the matrices must be transposes");
  const std::int64_t stride = row_stride(out), other_stride = row_stride(other);
  run_native([&](Watch& watch) {
    transposed_max(out.data(), stride, other.data(), other_stride, out.length(), out.length(1), thread_limit(threads),
                   watch);
  });
}

VectorRows vectors_of(const In<float, 2>& values) { return {values.data(), values.length(), values.length(1)}; }

Made<float> lengths(const In<float, 2>& vectors) {
  auto out = make_array(0.0f, vectors.length());
  run_native([&](Watch& watch) { squared_lengths(vectors_of(vectors), out.data(), watch); });
  return out;
}

void distances_of_words(const In<float, 2>& a, const In<float>& a_squares, const In<float, 2>& b,
                        const In<float>& b_squares, const Matrix& out, int threads) {
  require(a.length(1) == b.length(1), "vectors must have the same dimensions");
  require(a.length() == a_squares.length() && b.length() == b_squares.length(), "one square for each vector");
  require(out.length() == a.length() && out.length(1) == b.length(), "out has another shape than the vectors");
  const std::int64_t stride = row_stride(out);
  run_native([&](Watch& watch) {
    word_distances(vectors_of(a), a_squares.data(), vectors_of(b), b_squares.data(), out.data(), stride,
                   thread_limit(threads), watch);
  });
}

void minima(const FloatView& documents, const In<float, 2>& costs, const Out<float, 3>& nearest, std::int64_t column0,
            int threads) {
  const std::int64_t width = costs.length(1), columns = nearest.length(1);
  require(costs.length() >= documents.columns(), "costs needs a row for each word");
  require(width % 16 == 0 && width <= columns && column0 >= 0 && column0 <= columns - width,
          "columns must fit, in sixteens");
  require(nearest.length(2) == 16 && nearest.length() * 16 >= documents.rows(),
          "nearest needs sixteen lanes and a panel for all documents");
  require(is_aligned(costs.data()) && is_aligned(nearest.data()), "arrays must be aligned to 64 bytes");
  run_native([&](Watch& watch) {
    document_minima(documents.get(), costs.data(), width, nearest.data(), columns, column0, thread_limit(threads),
                    watch);
  });
}

void accumulated(const FloatView& pass, const FloatView& panel, const In<float, 3>& nearest, std::int64_t first_word,
                 bool omr, bool add, const Matrix& out, int threads) {
  const std::int64_t columns = nearest.length(1);
  require(pass.sorted() && panel.sorted(), "the words of a document must rise");
  require(nearest.length(2) == 16 && nearest.length() * 16 >= panel.rows(),
          "nearest needs sixteen lanes and a panel for all documents");
  require(out.length() == pass.rows() && out.length(1) == panel.rows(), "out has another shape than the documents");
  require(first_word >= 0 && first_word <= std::numeric_limits<std::int32_t>::max(), "first_word must fit in an int32");
  require(is_aligned(nearest.data()), "arrays must be aligned to 64 bytes");
  const AccumulateJob job{pass.get(), panel.get(), nearest.data(), columns,        first_word,
                          omr,        add,         out.data(),     row_stride(out)};
  run_native([&](Watch& watch) { accumulate(job, thread_limit(threads), watch); });
}

PairsJob pairs_job(const FloatView& x, const FloatView& y, Overlap overlap, Side side, const Matrix& out) {
  require(out.length() == x.rows() && out.length(1) == y.rows(), "out has another shape than the documents");
  return {x.get(), y.get(), overlap, side, out.data(), row_stride(out)};
}

void related(const FloatView& x, const FloatView& y, const FloatView& graph, float c_max, Overlap overlap, Side side,
             const Matrix& out, int threads, const Progress& progress) {
  require(x.columns() == graph.rows() && y.columns() == graph.rows() && graph.columns() == graph.rows(),
          "words must agree");
  const PairsJob job = pairs_job(x, y, overlap, side, out);
  run_native([&](Watch& watch) { related_pairs(job, graph.get(), c_max, thread_limit(threads), watch); }, progress,
             x.rows() * y.rows());
}

void dense(const FloatView& x, const FloatView& y, const In<float, 2>& costs, const In<std::int32_t>& own,
           std::int64_t x_known, std::int64_t y_known, float far, Overlap overlap, Side side, const Matrix& out,
           int threads) {
  const std::int64_t width = costs.length(1);
  require(x.rows() == 1, "x must be one document");
  const std::int64_t words = x.get().indptr[1] - x.get().indptr[0];
  require(x_known >= 0 && x_known <= words, "x has no more known words than words");
  require(y_known >= 0 && y_known <= y.columns(), "y has no more known words than words");
  require(width % 16 == 0 && width >= x_known, "costs needs a column for each known word of x, in sixteens");
  require(own.length() == words, "own needs a place for each word of x");
  require(costs.length() >= y_known, "costs needs a row for each known word of y");
  require(is_aligned(costs.data()), "arrays must be aligned to 64 bytes");
  const PairsJob job = pairs_job(x, y, overlap, side, out);
  const DenseRows rows{costs.data(), width, x_known, static_cast<std::int32_t>(y_known), far};
  run_native([&](Watch& watch) { dense_pairs(job, rows, own.data(), thread_limit(threads), watch); });
}

void refined(const FloatView& x, const FloatView& y, float limit, const Matrix& out, int threads) {
  require(x.sorted() && y.sorted(), "the words of a document must rise");
  const PairsJob job = pairs_job(x, y, Overlap::omr, Side::both, out);
  run_native([&](Watch& watch) { refine_cosine(job, limit, thread_limit(threads), watch); });
}

void offered(NearestRows& nearest, std::int64_t first_row, const Matrix& values, std::int64_t first,
             const std::optional<In<bool>>& allowed, int threads) {
  const std::int64_t rows = values.length(), columns = values.length(1);
  require(first_row >= 0 && first_row <= nearest.rows() - rows, "values has rows that are not there");
  require(first >= 0 && first <= std::numeric_limits<std::int64_t>::max() - columns, "first must not be negative");
  require(!allowed || allowed->length() == columns, "allowed needs a value for each column");
  const OfferedBlock block{
      values.data(), row_stride(values), rows, columns, first_row, first, allowed ? allowed->data() : nullptr};
  run_native([&](Watch& watch) { nearest.offer(block, thread_limit(threads), watch); });
}

std::pair<Made<std::int64_t, 2>, Made<float, 2>> finished(NearestRows& nearest, int threads) {
  auto indices = make_array(std::int64_t{-1}, nearest.rows(), nearest.k());
  auto distances = make_array(0.0f, nearest.rows(), nearest.k());
  run_native([&](Watch& watch) { nearest.finish(distances.data(), indices.data(), thread_limit(threads), watch); });
  return {std::move(indices), std::move(distances)};
}

}  // namespace

void bind_relaxed(nb::module_& m) {
  nb::enum_<PanelKind>(m, "PanelKind")
      .value("omr", PanelKind::omr)
      .value("keep", PanelKind::keep)
      .value("product", PanelKind::product);
  nb::enum_<Overlap>(m, "Overlap")
      .value("omr", Overlap::omr)
      .value("keep", Overlap::keep)
      .value("residual", Overlap::residual);
  nb::enum_<Side>(m, "Side").value("both", Side::both).value("left", Side::left).value("right", Side::right);
  m.def("panel_sums", &sums, "panel"_a, "pass_over"_a, "graph"_a, "rest"_a, "kind"_a, "out"_in, "transposed"_a = false,
        "combine"_a = false, "lower"_a = false, "threads"_a = 1, "progress"_a.none() = nb::none());
  m.def("make_symmetric", &symmetric, "values"_in, "threads"_a, "from_lower"_a = false);
  m.def("transposed_max", &larger_transposed, "out"_in, "other"_in, "threads"_a);
  m.def("squared_lengths", &lengths, "vectors"_in, "Squared lengths of vectors.");
  m.def("word_distances", &distances_of_words, "a"_in, "a_squares"_in, "b"_in, "b_squares"_in, "out"_in, "threads"_a);
  m.def("document_minima", &minima, "documents"_a, "costs"_in, "nearest"_in, "column0"_a, "threads"_a);
  m.def("accumulate", &accumulated, "pass_over"_a, "panel"_a, "nearest"_in, "first_word"_a, "omr"_a, "add"_a, "out"_in,
        "threads"_a);
  m.def("related_pairs", &related, "x"_a, "y"_a, "graph"_a, "c_max"_a, "overlap"_a, "side"_a, "out"_in, "threads"_a,
        "progress"_a.none());
  m.def("dense_pairs", &dense, "x"_a, "y"_a, "costs"_in, "own"_in, "x_known"_a, "y_known"_a, "far"_a, "overlap"_a,
        "side"_a, "out"_in, "threads"_a);
  m.def("refine_cosine", &refined, "x"_a, "y"_a, "limit"_a, "out"_in, "threads"_a);
  nb::class_<NearestRows>(m, "Nearest", "The k nearest of each row while blocks of values come in.")
      .def(nb::init<std::int64_t, std::int64_t>(), "rows"_a, "k"_a)
      .def("offer", &offered, "first_row"_a, "values"_in, "first"_a, "allowed"_in.none(), "threads"_a,
           "Values of some rows, as candidates from number `first` on, where they are allowed.")
      .def("finish", &finished, "threads"_a,
           "Indices and distances, sorted; places without a candidate are (-1, inf). Nothing can be offered then.");
}

}  // namespace wordferry
