#include <algorithm>

#include "support/bind.hpp"
#include "relaxed/dense.hpp"
#include "relaxed/pairs.hpp"
#include "relaxed/panel.hpp"
#include "support/report.hpp"
#include "relaxed/scan.hpp"
#include "relaxed/topk.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

using Progress = nb::object;

void sums(const CsrView& panel, const CsrView& pass, const CsrView& graph, float rest, int kind, const Matrix& out,
          bool transposed, bool combine, bool lower, int threads, const Progress& progress) {
  require(kind >= 0 && kind <= 2, "kind must be 0, 1 or 2");
  require(panel.columns() == pass.columns() && (kind == 2 || graph.rows() == pass.columns()), "words must agree");
  require(kind == 2 || graph.columns() == pass.columns(), "the graph must be square");
  const auto rows = static_cast<std::int64_t>(out.shape(transposed ? 1 : 0));
  const auto columns = static_cast<std::int64_t>(out.shape(transposed ? 0 : 1));
  require(rows == pass.rows() && columns == panel.rows(), "out has another shape than the documents");
  require(!lower || rows == columns, "lower is for a square matrix");
  const PanelJob job{panel.get(), pass.get(),  graph.get(),     rest,       static_cast<PanelKind>(kind),
                     out.data(),  row_stride(out), transposed, combine, lower, pass.columns()};
  run_reporting(progress, panel.rows() * pass.rows(),
                [&](std::atomic<std::int64_t>& done, Watch& watch) { panel_sums(job, threads, done, watch); });
}

void symmetric(const Matrix& values, bool from_lower, int threads) {
  require(values.shape(0) == values.shape(1), "the matrix must be square");
  const std::int64_t stride = row_stride(values);
  run_native([&](Watch& watch) {
    make_symmetric(values.data(), static_cast<std::int64_t>(values.shape(0)), stride, from_lower, threads, watch);
  });
}

void larger_transposed(const Matrix& out, const Matrix& other, int threads) {
  require(out.shape(0) == other.shape(1) && out.shape(1) == other.shape(0), "the matrices must be transposes");
  const std::int64_t stride = row_stride(out), other_stride = row_stride(other);
  run_native([&](Watch& watch) {
    transposed_max(out.data(), stride, other.data(), other_stride, static_cast<std::int64_t>(out.shape(0)),
                   static_cast<std::int64_t>(out.shape(1)), threads, watch);
  });
}

VectorRows vectors_of(const In<float, 2>& values) {
  return {values.data(), static_cast<std::int64_t>(values.shape(0)), static_cast<std::int64_t>(values.shape(1))};
}

void distances(const Matrix& products, const In<float, 2>& a, const In<float>& a_squares, const In<float, 2>& b,
               const In<float>& b_squares, int threads) {
  require(a.shape(1) == b.shape(1), "vectors must have the same dimensions");
  require(a.shape(0) == a_squares.shape(0) && b.shape(0) == b_squares.shape(0), "one square a vector");
  require(products.shape(0) == a.shape(0) && products.shape(1) == b.shape(0), "products has another shape");
  const std::int64_t stride = row_stride(products);
  run_native([&](Watch& watch) {
    products_to_distances(products.data(), stride, vectors_of(a), a_squares.data(), vectors_of(b), b_squares.data(),
                          threads, watch);
  });
}

void minima(const CsrView& documents, const In<float, 2>& costs, const Out<float, 3>& nearest, std::int64_t column0,
            int threads) {
  const auto width = static_cast<std::int64_t>(costs.shape(1));
  const auto columns = static_cast<std::int64_t>(nearest.shape(1));
  require(static_cast<std::int64_t>(costs.shape(0)) >= documents.columns(), "costs needs a row a word");
  require(width % 16 == 0 && column0 >= 0 && column0 + width <= columns, "columns must fit, in sixteens");
  require(nearest.shape(2) == 16 && static_cast<std::int64_t>(nearest.shape(0)) * 16 >= documents.rows(),
          "nearest needs sixteen lanes and a panel for all documents");
  require(is_aligned(costs.data()) && is_aligned(nearest.data()), "arrays must be aligned to 64 bytes");
  run_native([&](Watch& watch) {
    document_minima(documents.get(), costs.data(), width, nearest.data(), columns, column0, threads, watch);
  });
}

void check_spans(const CsrView& documents, const In<std::int64_t>& from, const In<std::int64_t>& to,
                 std::int32_t first_word, std::int64_t columns) {
  const CsrF rows = documents.get();
  require(static_cast<std::int64_t>(from.shape(0)) == rows.rows && from.shape(0) == to.shape(0), "a span a document");
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const std::int64_t low = from.data()[i], high = to.data()[i];
    require(rows.indptr[i] <= low && low <= high && high <= rows.indptr[i + 1], "a span outside its document");
    for (std::int64_t k = low; k < high; ++k) {
      require(rows.indices[k] >= first_word && rows.indices[k] < first_word + columns, "a word outside the block");
    }
  }
}

void accumulated(const CsrView& pass, const In<std::int64_t>& pass_from, const In<std::int64_t>& pass_to,
                 const CsrView& panel, const In<std::int64_t>& panel_from, const In<std::int64_t>& panel_to,
                 const In<float, 3>& nearest, std::int32_t first_word, bool omr, bool add, const Matrix& out,
                 int threads) {
  const auto columns = static_cast<std::int64_t>(nearest.shape(1));
  require(nearest.shape(2) == 16 && static_cast<std::int64_t>(nearest.shape(0)) * 16 >= panel.rows(),
          "nearest needs sixteen lanes and a panel for all documents");
  require(static_cast<std::int64_t>(out.shape(0)) == pass.rows() &&
              static_cast<std::int64_t>(out.shape(1)) == panel.rows(),
          "out has another shape than the documents");
  require(is_aligned(nearest.data()), "arrays must be aligned to 64 bytes");
  check_spans(pass, pass_from, pass_to, first_word, columns);
  check_spans(panel, panel_from, panel_to, first_word, columns);
  const AccumulateJob job{pass.get(),       pass_from.data(), pass_to.data(), panel.get(), panel_from.data(),
                          panel_to.data(),  nearest.data(),   columns,        first_word,  omr,
                          add,              out.data(),       row_stride(out)};
  run_native([&](Watch& watch) {
    std::atomic<std::int64_t> done{0};
    accumulate(job, threads, done, watch);
  });
}

PairsJob pairs_job(const CsrView& x, const CsrView& y, int overlap, int side, const Matrix& out) {
  require(overlap >= 0 && overlap <= 2 && side >= 0 && side <= 2, "overlap and side must be 0, 1 or 2");
  require(static_cast<std::int64_t>(out.shape(0)) == x.rows() && static_cast<std::int64_t>(out.shape(1)) == y.rows(),
          "out has another shape than the documents");
  return {x.get(), y.get(), static_cast<Overlap>(overlap), static_cast<Side>(side), out.data(), row_stride(out)};
}

void related(const CsrView& x, const CsrView& y, const CsrView& graph, float c_max, int overlap, int side, bool scan,
             const Matrix& out, int threads, const Progress& progress) {
  require(x.columns() == graph.rows() && y.columns() == graph.rows() && graph.columns() == graph.rows(),
          "words must agree");
  require(!scan || overlap != 2, "a scan cannot serve residual");
  const PairsJob job = pairs_job(x, y, overlap, side, out);
  run_reporting(progress, x.rows() * y.rows(), [&](std::atomic<std::int64_t>& done, Watch& watch) {
    (scan ? related_scan : related_pairs)(job, graph.get(), c_max, threads, done, watch);
  });
}

void dense(const CsrView& x, const CsrView& y, const In<float, 2>& costs, const In<std::int32_t>& own, int overlap,
           int side, const Matrix& out, int threads) {
  const auto width = static_cast<std::int64_t>(costs.shape(1));
  const std::int64_t words = x.rows() == 1 ? x.get().indptr[1] - x.get().indptr[0] : -1;
  require(words >= 0 && width % 16 == 0 && width >= words, "x must be one document, with a column a word");
  require(static_cast<std::int64_t>(own.shape(0)) == words, "own needs a place for each word of x");
  require(static_cast<std::int64_t>(costs.shape(0)) >= y.columns(), "costs needs a row for each word of y");
  require(is_aligned(costs.data()), "arrays must be aligned to 64 bytes");
  const PairsJob job = pairs_job(x, y, overlap, side, out);
  run_native([&](Watch& watch) {
    std::atomic<std::int64_t> done{0};
    dense_pairs(job, costs.data(), width, own.data(), threads, done, watch);
  });
}

void refined(const CsrView& x, const CsrView& y, float limit, const Matrix& out, int threads) {
  const PairsJob job = pairs_job(x, y, 0, 0, out);
  run_native([&](Watch& watch) { refine_cosine(job, limit, threads, watch); });
}

Heaps heaps_of(const Out<float, 2>& distances_, const Out<std::int64_t, 2>& indices) {
  require(distances_.shape(0) == indices.shape(0) && distances_.shape(1) == indices.shape(1), "heaps must agree");
  require(indices.shape(1) > 0, "k must be at least 1");
  return {distances_.data(), indices.data(), static_cast<std::int64_t>(indices.shape(0)),
          static_cast<std::int64_t>(indices.shape(1))};
}

void offered(const Out<float, 2>& distances_, const Out<std::int64_t, 2>& indices, const Matrix& values,
             std::int64_t first, const nb::object& allowed, int threads) {
  const Heaps heaps = heaps_of(distances_, indices);
  require(values.shape(0) == distances_.shape(0), "values needs a row a heap");
  const std::uint8_t* mask = nullptr;
  In<std::uint8_t> held;
  if (!allowed.is_none()) {
    held = nb::cast<In<std::uint8_t>>(allowed);
    require(held.shape(0) == values.shape(1), "allowed needs a value a column");
    mask = held.data();
  }
  const std::int64_t stride = row_stride(values);
  run_native([&](Watch& watch) {
    offer(heaps, values.data(), stride, static_cast<std::int64_t>(values.shape(1)), first, mask, threads, watch);
  });
}

void finished(const Out<float, 2>& distances_, const Out<std::int64_t, 2>& indices, int threads) {
  const Heaps heaps = heaps_of(distances_, indices);
  run_native([&](Watch& watch) { finish(heaps, threads, watch); });
}

}  // namespace

void bind_relaxed(nb::module_& m) {
  nb::class_<CsrView>(m, "Csr").def(
      nb::init<In<std::int64_t>, In<std::int32_t>, In<float>, std::int64_t>(), nb::arg("indptr").noconvert(),
      nb::arg("indices").noconvert(), nb::arg("data").noconvert(), nb::arg("columns"))
      .def("widened", &CsrView::widened, nb::arg("columns"));
  m.def("panel_sums", &sums, nb::arg("panel"), nb::arg("pass_over"), nb::arg("graph"), nb::arg("rest"), nb::arg("kind"),
        nb::arg("out").noconvert(), nb::arg("transposed"), nb::arg("combine"), nb::arg("lower"),
        nb::arg("threads"), nb::arg("progress").none());
  m.def("make_symmetric", &symmetric, nb::arg("values").noconvert(), nb::arg("from_lower"), nb::arg("threads"));
  m.def("transposed_max", &larger_transposed, nb::arg("out").noconvert(), nb::arg("other").noconvert(),
        nb::arg("threads"));
  m.def("products_to_distances", &distances, nb::arg("products").noconvert(), nb::arg("a").noconvert(),
        nb::arg("a_squares").noconvert(), nb::arg("b").noconvert(), nb::arg("b_squares").noconvert(),
        nb::arg("threads"));
  m.def("document_minima", &minima, nb::arg("documents"), nb::arg("costs").noconvert(), nb::arg("nearest").noconvert(),
        nb::arg("column0"), nb::arg("threads"));
  m.def("accumulate", &accumulated, nb::arg("pass_over"), nb::arg("pass_from").noconvert(),
        nb::arg("pass_to").noconvert(), nb::arg("panel"), nb::arg("panel_from").noconvert(),
        nb::arg("panel_to").noconvert(), nb::arg("nearest").noconvert(), nb::arg("first_word"), nb::arg("omr"),
        nb::arg("add"), nb::arg("out").noconvert(), nb::arg("threads"));
  m.def("related_pairs", &related, nb::arg("x"), nb::arg("y"), nb::arg("graph"), nb::arg("c_max"), nb::arg("overlap"),
        nb::arg("side"), nb::arg("scan"), nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("progress").none());
  m.def("dense_pairs", &dense, nb::arg("x"), nb::arg("y"), nb::arg("costs").noconvert(), nb::arg("own").noconvert(),
        nb::arg("overlap"), nb::arg("side"), nb::arg("out").noconvert(), nb::arg("threads"));
  m.def("refine_cosine", &refined, nb::arg("x"), nb::arg("y"), nb::arg("limit"), nb::arg("out").noconvert(),
        nb::arg("threads"));
  m.def("heaps_offer", &offered, nb::arg("distances").noconvert(), nb::arg("indices").noconvert(),
        nb::arg("values").noconvert(), nb::arg("first"), nb::arg("allowed").none(), nb::arg("threads"));
  m.def("heaps_finish", &finished, nb::arg("distances").noconvert(), nb::arg("indices").noconvert(),
        nb::arg("threads"));
}

}  // namespace wordferry
