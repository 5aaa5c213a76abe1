#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "centroids/centroids.hpp"
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

// How centroids are coded, and where.
class CentroidFrame {
 public:
  CentroidFrame(In<double> mean, In<double, 2> axes, In<double> steps, double error_step)
      : mean_(std::move(mean)), axes_(std::move(axes)), steps_(std::move(steps)), error_step_(error_step) {
    require(axes_.length(1) == mean_.length(), "mean and axes must agree in their dimensions");
    const std::int64_t more = steps_.length() - axes_.length();
    require(more == 1 || more == 2, "one step for each axis, and one or two more");
    require(all_finite(mean_.data(), mean_.length()) && all_finite(axes_.data(), axes_.length() * mean_.length()),
            "mean and axes must be finite");
    bool fits = error_step > 0.0 && error_step <= largest_number;
    for (std::int64_t c = 0; c < steps_.length(); ++c)
      fits &= steps_.data()[c] > 0.0 && steps_.data()[c] <= largest_number;
    require(fits, "steps must be positive");
  }

  CodeFrame get() const {
    return {mean_.data(), axes_.data(), axes_.length(), steps_.data(), error_step_, mean_.length(), steps_.length()};
  }

 private:
  In<double> mean_;
  In<double, 2> axes_;
  In<double> steps_;
  double error_step_;
};

class CentroidCodes {
 public:
  CentroidCodes(const CentroidFrame& frame, In<std::int8_t> codes) : frame_(frame), codes_(std::move(codes)) {}

  CodedPart get(std::int64_t documents) const {
    const CodeFrame frame = frame_.get();
    require(codes_.length() == frame.bytes(documents), "the codes are not those of the part");
    return {frame, codes_.data()};
  }

 private:
  CentroidFrame frame_;
  In<std::int8_t> codes_;
};

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

Made<std::int8_t> encoded(const WeighedDocuments& part, const WordVectorsView& view, const CentroidFrame& frame,
                          int threads) {
  const CodeFrame own = frame.get();
  const WordVectors vectors = view.get();
  require(part.has_exact(), "documents need their exact totals here");
  require(own.dimensions == vectors.dimensions, "the frame has other dimensions than the vectors");
  auto codes = make_array(std::int8_t{0}, own.bytes(part.documents()));
  run_sound("the arrays lead outside of themselves", [&](Watch& watch) {
    return encode_centroids(part.get(0, nullptr), vectors, own, codes.data(), thread_limit(threads), watch);
  });
  return codes;
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
    std::vector<CodedPart> coded;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      require(codes[p] != nullptr, "codes must not be None");
      coded.push_back(codes[p]->get(parts[p]->documents()));
      require(coded.back().frame.dimensions == vectors.dimensions, "codes of other dimensions than the vectors");
    }
    NearestDocuments found;
    run_sound("the arrays lead outside of themselves", [&](Watch& watch) {
      return nearest_by_codes(all, coded, vectors, target_, k, thread_limit(threads), found, watch);
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
  nb::class_<CentroidFrame>(m, "CentroidFrame", "Along which axes centroids are coded, and in which steps.")
      .def(nb::init<In<double>, In<double, 2>, In<double>, double>(), "mean"_in, "axes"_in, "steps"_in, "error_step"_a);
  nb::class_<CentroidCodes>(m, "CentroidCodes", "The codes of the centroids of a part.")
      .def(nb::init<const CentroidFrame&, In<std::int8_t>>(), "frame"_a, "codes"_in);
  nb::class_<WordVectorsView>(m, "WordVectors", "Vectors, which of them a word has, and what words weigh.")
      .def(nb::init<In<float, 2>, In<std::int32_t>, const WeightsView&, double>(), "vectors"_in, "rows"_in, "weights"_a,
           "apart"_a);
  m.def("centroids_of", &centroids, "parts"_a, "vectors"_a, "rows"_in,
        "The centroids of some rows, and the lengths of what their words without a vector add.");
  m.def("encode_centroids", &encoded, "part"_a, "vectors"_a, "frame"_a, "threads"_a,
        "The codes of the centroids of all rows of a part.");
  nb::class_<CentroidQuery>(m, "CentroidQuery", "A query of the word centroid distance against stored documents.")
      .def(nb::init<const WordVectorsView&, const In<std::int32_t>&, const In<float>&, const In<std::int32_t>&,
                    const In<float>&>(),
           "vectors"_a, "rows"_in, "masses"_in, "apart"_in, "apart_masses"_in)
      .def("nearest", &CentroidQuery::nearest, "parts"_a, "codes"_a, "allowed"_in.none(), "k"_a, "threads"_a,
           "A line of the nearest rows and one of their distances; how many documents were compared in full.")
      .def("distances", &CentroidQuery::distances, "parts"_a, "rows"_in, "The distances of some rows.");
}

}  // namespace wordferry
