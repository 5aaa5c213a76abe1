#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <tuple>
#include <utility>

#include "centroids/centroids.hpp"
#include "centroids/codes.hpp"
#include "stored/views.hpp"
#include "support/at.hpp"

namespace wordferry {

namespace {

constexpr double largest_number = 1e30;

template <class T>
bool is_finite(T value) {
  return std::abs(value) <= static_cast<T>(largest_number);
}

// The vectors of words, which vector a word has, and what words weigh.
class WordVectorsView {
 public:
  WordVectorsView(const In<float, 2>& vectors, const In<std::int32_t>& rows, const WeightsView& weights, double apart)
      : vectors_{vectors.data(), vectors.length(), vectors.length(1), weights.get(), rows.data(), apart},
        held_(hold(vectors, rows, weights)) {
    require(apart >= 0.0 && apart <= largest_number, "apart must be the square of a length");
    require(rows.length() == weights.get().count, "one weight and one vector, or -1, for each word");
    require_range(rows, -1, vectors.length(), "rows must lie in the vectors");
  }

  const WordVectors& get() const { return vectors_; }

 private:
  WordVectors vectors_;
  Held held_;
};

// Parts with their exact totals; `wanted` is who may be found, or the rows to look up.
template <class Wanted>
std::vector<SearchedPart> with_totals(const Parts& parts, const Wanted& wanted) {
  std::vector<SearchedPart> found = searched(parts, wanted);
  for (const SearchedPart& part : found) require(part.exact != nullptr, "documents need their exact totals here");
  return found;
}

std::pair<Made<double, 2>, Made<double>> centroids(const Parts& parts, const WordVectorsView& view,
                                                   const In<std::int64_t>& rows) {
  const std::vector<SearchedPart> all = with_totals(parts, rows);
  const WordVectors& vectors = view.get();
  auto out = make_array(0.0, rows.length(), vectors.dimensions);
  auto apart = make_array(0.0, rows.length());
  run_native(
      [&](Watch& watch) { centroids_of(all, vectors, rows.data(), rows.length(), out.data(), apart.data(), watch); });
  return {std::move(out), std::move(apart)};
}

std::unique_ptr<CentroidCodes> encoded(const WeighedDocuments& part, const WordVectorsView& view,
                                       const In<double>& mean, const In<double, 2>& axes, const In<double>& most,
                                       int threads) {
  const WordVectors& vectors = view.get();
  const SearchedPart all = with_totals({&part}, Allowed{}).front();
  require(mean.length() == vectors.dimensions && axes.length(1) == vectors.dimensions,
          "mean and axes have other dimensions than the vectors");
  require(axes.length() <= most_axes, "too many axes");
  require(most.length() == axes.length() + 3, "one largest number for each axis, and three more");
  constexpr const char* not_finite = "mean, axes and largest numbers must be finite";
  require_all(mean, is_finite<double>, not_finite);
  require_all(axes, is_finite<double>, not_finite);
  require_all(most, is_finite<double>, not_finite);
  auto made = std::make_unique<CentroidCodes>(
      CodeFrame{mean.data(), axes.data(), most.data(), vectors.dimensions, axes.length()});
  run_native([&](Watch& watch) { made->encode(all, vectors, thread_limit(threads), watch); });
  return made;
}

class CentroidQuery {
 public:
  // `rows` are the vectors of words that have one; `apart` the numbers, rising, of those that have none.
  CentroidQuery(const WordVectorsView& view, const In<std::int32_t>& rows, const In<float>& masses,
                const In<std::int32_t>& apart, const In<float>& apart_masses)
      : view_(view) {
    const WordVectors& vectors = view.get();
    target_.centroid.assign(at(vectors.dimensions), 0.0);
    require(rows.length() == masses.length() && apart.length() == apart_masses.length(), "one mass for each word");
    require_range(rows, 0, vectors.vectors, "rows must lie in the vectors");
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      add_vector(vectors.data + rows.data()[i] * vectors.dimensions, vectors.dimensions, masses.data()[i],
                 target_.centroid.data());
    }
    require_rising(apart, "words without a vector must rise");
    for (std::int64_t i = 0; i < apart.length(); ++i) {
      const auto mass = static_cast<double>(apart_masses.data()[i]);
      if (apart.data()[i] < vectors.weights.count) {
        target_.apart.push_back({apart.data()[i], apart_masses.data()[i]});
      } else {
        target_.new_squares += mass * mass;
      }
    }
    constexpr const char* not_finite = "masses and vectors must be finite";
    require_all(target_.centroid, is_finite<double>, not_finite);
    require_all(apart_masses, is_finite<float>, not_finite);
    require(is_finite(target_.new_squares), not_finite);
  }

  std::tuple<Made<std::int64_t, 2>, Made<float, 2>, std::int64_t> nearest(
      const Parts& parts, const std::vector<const CentroidCodes*>& codes, const Allowed& allowed, std::int64_t k,
      int threads) const {
    const std::vector<SearchedPart> all = with_totals(parts, allowed);
    require(codes.size() == parts.size(), "one set of codes for each part");
    require_k(k);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      require(codes[p] != nullptr, "codes must not be None");
      require(codes[p]->rows() == parts[p]->documents(), "the codes are not those of the part");
      require(codes[p]->dimensions() == view_.get().dimensions, "codes of other dimensions than the vectors");
    }
    std::vector<NearestDocuments> found(1);
    run_native([&](Watch& watch) {
      found[0] = nearest_by_codes(all, codes, view_.get(), target_, k, thread_limit(threads), watch);
    });
    auto [rows, distances] = nearest_arrays(found, k);
    return {std::move(rows), std::move(distances), found[0].evaluated};
  }

  Made<float> distances(const Parts& parts, const In<std::int64_t>& rows) const {
    const std::vector<SearchedPart> all = with_totals(parts, rows);
    auto out = make_array(0.0f, rows.length());
    run_native([&](Watch& watch) {
      centroid_distances(all, view_.get(), target_, rows.data(), rows.length(), out.data(), watch);
    });
    return out;
  }

 private:
  WordVectorsView view_;
  CentroidTarget target_;
};

}  // namespace

void bind_centroids(nb::module_& m) {
  nb::class_<WordVectorsView>(m, "WordVectors", "Vectors, which of them a word has, and what words weigh.")
      .def(nb::init<const In<float, 2>&, const In<std::int32_t>&, const WeightsView&, double>(), "vectors"_in,
           "rows"_in, "weights"_a, "apart"_a);
  m.def("centroids_of", &centroids, "parts"_a, "vectors"_a, "rows"_in,
        "The centroids of some rows, and the lengths of what their words without a vector add.");
  nb::class_<CentroidCodes>(m, "CentroidCodes", "The codes of the centroids of all rows of a part.")
      .def(nb::new_(&encoded), "part"_a, "vectors"_a, "mean"_in, "axes"_in, "most"_in, "threads"_a);
  nb::class_<CentroidQuery>(m, "CentroidQuery", "A query of the word centroid distance against stored documents.")
      .def(nb::init<const WordVectorsView&, const In<std::int32_t>&, const In<float>&, const In<std::int32_t>&,
                    const In<float>&>(),
           "vectors"_a, "rows"_in, "masses"_in, "apart"_in, "apart_masses"_in)
      .def("nearest", &CentroidQuery::nearest, "parts"_a, "codes"_a, "allowed"_in.none(), "k"_a, "threads"_a,
           "A line of the nearest rows and one of their distances; how many documents were compared in full.")
      .def("distances", &CentroidQuery::distances, "parts"_a, "rows"_in, "The distances of some rows.");
}

}  // namespace wordferry
