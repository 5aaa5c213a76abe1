#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <memory>
#include <tuple>

#include "centroids/centroids.hpp"
#include "centroids/codes.hpp"
#include "stored/part.hpp"

namespace wordferry {

namespace {

constexpr double largest_number = 1e30;

template <class T>
bool all_finite(const T* values, std::int64_t count) {
  bool finite = true;
  for (std::int64_t i = 0; i < count; ++i) finite &= std::abs(values[i]) <= static_cast<T>(largest_number);
  return finite;
}

// The vectors of words, which vector a word has, and what words weigh; holds on to its arrays.
class WordVectorsView {
 public:
  WordVectorsView(In<float, 2> vectors, In<std::int32_t> rows, const WeightsView& weights, double apart)
      : vectors_(std::move(vectors)), rows_(std::move(rows)), weights_(weights), apart_(apart) {
    require(apart >= 0.0 && apart <= largest_number, "apart must be the square of a length");
    require(rows_.length() == weights.get().count, "one weight and one vector, or -1, for each word");
    require_range(rows_.data(), rows_.length(), -1, vectors_.length(), "rows must lie in the vectors");
  }

  WordVectors get() const {
    return {vectors_.data(), vectors_.length(), vectors_.length(1), weights_.get(), rows_.data(), apart_};
  }

 private:
  In<float, 2> vectors_;
  In<std::int32_t> rows_;
  WeightsView weights_;
  double apart_;
};

using Parts = std::vector<const WeighedDocuments*>;

std::vector<SearchedPart> with_totals(const Parts& parts, const Allowed& allowed, std::int64_t& documents) {
  const std::vector<SearchedPart> found = searched(parts, allowed, documents);
  for (const SearchedPart& part : found) require(part.exact != nullptr, "documents need their exact totals here");
  return found;
}

std::vector<SearchedPart> looked_up(const Parts& parts, const In<std::int64_t>& rows) {
  std::int64_t documents = 0;
  std::vector<SearchedPart> found = with_totals(parts, {}, documents);
  require_range(rows.data(), rows.length(), 0, documents, "rows must lie in the parts");
  return found;
}

std::pair<Made<double, 2>, Made<double>> centroids(const Parts& parts, const WordVectorsView& view,
                                                   const In<std::int64_t>& rows) {
  const std::vector<SearchedPart> all = looked_up(parts, rows);
  const WordVectors vectors = view.get();
  auto out = make_array(0.0, rows.length(), vectors.dimensions);
  auto apart = make_array(0.0, rows.length());
  run_sound("the arrays lead outside of themselves", [&](Watch& watch) {
    return centroids_of(all, vectors, rows.data(), rows.length(), out.data(), apart.data(), watch);
  });
  return {std::move(out), std::move(apart)};
}

std::unique_ptr<CentroidCodes> encoded(const WeighedDocuments& part, const WordVectorsView& view,
                                       const In<double>& mean, const In<double, 2>& axes, const In<double>& most,
                                       int threads) {
  const WordVectors vectors = view.get();
  require(part.has_exact(), "documents need their exact totals here");
  require(mean.length() == vectors.dimensions && axes.length(1) == vectors.dimensions,
          "mean and axes have other dimensions than the vectors");
  require(axes.length() <= most_axes, "too many axes");
  require(most.length() == axes.length() + 3, "one largest number for each axis, and three more");
  require(all_finite(mean.data(), mean.length()) && all_finite(axes.data(), axes.length() * mean.length()) &&
              all_finite(most.data(), most.length()),
          "mean, axes and largest numbers must be finite");
  auto made = std::make_unique<CentroidCodes>(
      CodeFrame{mean.data(), axes.data(), most.data(), vectors.dimensions, axes.length()});
  run_sound("the arrays lead outside of themselves",
            [&](Watch& watch) { return made->encode(part.get(0, nullptr), vectors, thread_limit(threads), watch); });
  return made;
}

class CentroidQuery {
 public:
  // `rows` are the vectors of words that have one; `apart` the numbers, rising, of those that have none.
  CentroidQuery(const WordVectorsView& view, const In<std::int32_t>& rows, const In<float>& masses,
                const In<std::int32_t>& apart, const In<float>& apart_masses)
      : view_(view) {
    const WordVectors vectors = view.get();
    target_.centroid.assign(static_cast<std::size_t>(vectors.dimensions), 0.0);
    require(rows.length() == masses.length() && apart.length() == apart_masses.length(), "one mass for each word");
    require_range(rows.data(), rows.length(), 0, vectors.vectors, "rows must lie in the vectors");
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      add_vector(vectors.data + rows.data()[i] * vectors.dimensions, vectors.dimensions, masses.data()[i],
                 target_.centroid.data());
    }
    for (std::int64_t i = 0; i < apart.length(); ++i) {
      require(i == 0 || apart.data()[i] > apart.data()[i - 1], "words without a vector must rise");
      const auto mass = static_cast<double>(apart_masses.data()[i]);
      if (apart.data()[i] < vectors.weights.count) {
        target_.apart.push_back({apart.data()[i], apart_masses.data()[i]});
      } else {
        target_.new_squares += mass * mass;
      }
    }
    require(all_finite(target_.centroid.data(), vectors.dimensions) &&
                all_finite(apart_masses.data(), apart_masses.length()) && all_finite(&target_.new_squares, 1),
            "masses and vectors must be finite");
  }

  std::tuple<Made<std::int64_t, 2>, Made<float, 2>, std::int64_t> nearest(
      const Parts& parts, const std::vector<const CentroidCodes*>& codes, const Allowed& allowed, std::int64_t k,
      int threads) const {
    std::int64_t documents = 0;
    const std::vector<SearchedPart> all = with_totals(parts, allowed, documents);
    const WordVectors vectors = view_.get();
    require(codes.size() == parts.size(), "one set of codes for each part");
    require(k >= 0 && k <= largest_k, "k must not be negative, and of moderate size");
    for (std::size_t p = 0; p < parts.size(); ++p) {
      require(codes[p] != nullptr, "codes must not be None");
      require(codes[p]->rows() == parts[p]->documents(), "the codes are not those of the part");
      require(codes[p]->dimensions() == vectors.dimensions, "codes of other dimensions than the vectors");
    }
    NearestDocuments found;
    run_sound("the arrays lead outside of themselves", [&](Watch& watch) {
      return nearest_by_codes(all, codes, vectors, target_, k, thread_limit(threads), found, watch);
    });
    auto rows = make_array(std::int64_t{-1}, 1, k);
    auto distances = make_array(std::numeric_limits<float>::infinity(), 1, k);
    for (std::size_t i = 0; i < found.best.size(); ++i) {
      rows.data()[i] = found.best[i].row;
      distances.data()[i] = found.best[i].distance;
    }
    return {std::move(rows), std::move(distances), found.evaluated};
  }

  Made<float> distances(const Parts& parts, const In<std::int64_t>& rows) const {
    const std::vector<SearchedPart> all = looked_up(parts, rows);
    auto out = make_array(0.0f, rows.length());
    run_sound("the arrays lead outside of themselves", [&](Watch& watch) {
      return centroid_distances(all, view_.get(), target_, rows.data(), rows.length(), out.data(), watch);
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
      .def(nb::init<In<float, 2>, In<std::int32_t>, const WeightsView&, double>(), "vectors"_in, "rows"_in, "weights"_a,
           "apart"_a);
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
