#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "lists/centroids.hpp"
#include "lists/weighed_view.hpp"

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
    for (std::int64_t c = 0; c < steps_.length(); ++c) fits &= steps_.data()[c] > 0.0 && steps_.data()[c] <= largest_number;
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

Vectors vectors_of(const In<float, 2>& vectors) { return {vectors.data(), vectors.length(), vectors.length(1)}; }

// Documents by plain counts of their words with vectors, or by what all of their words weigh; holds on to its arrays.
class CentroidDocuments {
 public:
  explicit CentroidDocuments(const ListPart& counts) : counts_(counts) {}
  CentroidDocuments(const Weighed& documents, const Weights& weights, double apart)
      : weighed_(documents), weights_(weights), apart_(apart) {
    require(apart >= 0.0 && apart <= largest_number, "apart must be the square of a length");
    require(documents.has_totals(), "documents need their totals here");
  }

  std::int64_t documents() const { return counts_ ? counts_->documents() : weighed_->documents(); }

  CentroidPart get(std::int64_t start, const std::uint8_t* allowed) const {
    if (weighed_) return {weighed_->get(start, allowed), true, weights_->get(), apart_};
    CentroidPart part{};
    part.documents.known = counts_->get(start, allowed);
    return part;
  }

 private:
  std::optional<ListPart> counts_;
  std::optional<Weighed> weighed_;
  std::optional<Weights> weights_;
  double apart_ = 0.0;
};

using CentroidParts = std::vector<const CentroidDocuments*>;

std::vector<CentroidPart> searched(const CentroidParts& parts, const std::optional<In<std::uint8_t>>& allowed,
                                   std::int64_t& documents) {
  documents = 0;
  std::vector<CentroidPart> found;
  for (const CentroidDocuments* part : parts) {
    require(part != nullptr, "a part must not be None");
    found.push_back(part->get(documents, allowed ? allowed->data() : nullptr));
    documents += part->documents();
  }
  require(!allowed || allowed->length() == documents, "allowed needs a value for each document");
  return found;
}

std::vector<CentroidPart> looked_up(const CentroidParts& parts, const In<std::int64_t>& rows) {
  std::int64_t documents = 0;
  std::vector<CentroidPart> found = searched(parts, std::nullopt, documents);
  require_range(rows.data(), rows.length(), 0, documents, "rows must lie in the parts");
  return found;
}

void centroids(const CentroidParts& parts, const In<float, 2>& vectors, const In<std::int64_t>& rows,
               const Out<double, 2>& out, const Out<double>& apart) {
  const std::vector<CentroidPart> all = looked_up(parts, rows);
  require(out.length() == rows.length() && out.length(1) == vectors.length(1), "out has one centroid for each row");
  require(apart.length() == rows.length(), "apart has one length for each row");
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = centroids_of(all, vectors_of(vectors), rows.data(), rows.length(), out.data(), apart.data(), watch);
  });
  require(sound, "the arrays lead outside of themselves");
}

void encoded(const CentroidDocuments& part, const In<float, 2>& vectors, const CentroidFrame& frame,
             const Out<std::int8_t>& codes, int threads) {
  const CodeFrame own = frame.get();
  require(own.dimensions == vectors.length(1), "the frame has other dimensions than the vectors");
  require(codes.length() == own.bytes(part.documents()), "codes has another length than the part needs");
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = encode_centroids(part.get(0, nullptr), vectors_of(vectors), own, codes.data(), thread_limit(threads), watch);
  });
  require(sound, "the arrays lead outside of themselves");
}

class CentroidQuery {
 public:
  CentroidQuery(const In<std::int32_t>& words, const In<float>& masses, const In<std::int32_t>& others,
                const In<float>& other_masses, const In<float>& new_masses, In<float, 2> vectors)
      : vectors_(std::move(vectors)) {
    target_.centroid.assign(static_cast<std::size_t>(vectors_.length(1)), 0.0);
    require(words.length() == masses.length() && others.length() == other_masses.length(), "one mass for each word");
    require_range(words.data(), words.length(), 0, vectors_.length(), "words must have vectors");
    const std::int64_t dimensions = vectors_.length(1);
    for (std::int64_t i = 0; i < words.length(); ++i) {
      add_vector(vectors_.data() + words.data()[i] * dimensions, dimensions, masses.data()[i], target_.centroid.data());
    }
    for (std::int64_t i = 0; i < others.length(); ++i) {
      require(i == 0 || others.data()[i] > others.data()[i - 1], "words without a vector must rise");
      target_.others.push_back({others.data()[i], other_masses.data()[i]});
    }
    for (std::int64_t i = 0; i < new_masses.length(); ++i) {
      const auto mass = static_cast<double>(new_masses.data()[i]);
      target_.new_squares += mass * mass;
    }
    require(all_finite(target_.centroid.data(), dimensions) && all_finite(other_masses.data(), other_masses.length()) &&
                all_finite(&target_.new_squares, 1),
            "masses and vectors must be finite");
  }

  std::pair<std::int64_t, std::int64_t> nearest(const CentroidParts& parts,
                                                const std::vector<const CentroidCodes*>& codes,
                                                const std::optional<In<std::uint8_t>>& allowed, int threads,
                                                const Out<std::int64_t>& rows, const Out<float>& distances) const {
    std::int64_t documents = 0;
    const std::vector<CentroidPart> all = searched(parts, allowed, documents);
    require(codes.size() == parts.size(), "one set of codes for each part");
    require(rows.length() == distances.length(), "rows and distances must agree in length");
    std::vector<CodedPart> coded;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      require(codes[p] != nullptr, "codes must not be None");
      coded.push_back(codes[p]->get(parts[p]->documents()));
      require(coded.back().frame.dimensions == vectors_.length(1), "codes of other dimensions than the vectors");
    }
    NearestRows found;
    bool sound = true;
    run_native([&](Watch& watch) {
      sound = nearest_by_codes(all, coded, vectors_of(vectors_), target_, rows.length(), thread_limit(threads), found,
                               watch);
    });
    require(sound, "the arrays lead outside of themselves");
    for (std::size_t i = 0; i < found.best.size(); ++i) {
      rows.data()[i] = found.best[i].row;
      distances.data()[i] = found.best[i].distance;
    }
    return {static_cast<std::int64_t>(found.best.size()), found.evaluated};
  }

  void distances(const CentroidParts& parts, const In<std::int64_t>& rows, const Out<float>& out) const {
    const std::vector<CentroidPart> all = looked_up(parts, rows);
    require(rows.length() == out.length(), "one distance for each row");
    bool sound = true;
    run_native([&](Watch& watch) {
      sound = centroid_distances(all, vectors_of(vectors_), target_, rows.data(), rows.length(), out.data(), watch);
    });
    require(sound, "the arrays lead outside of themselves");
  }

 private:
  In<float, 2> vectors_;
  CentroidTarget target_;
};

}  // namespace

void bind_centroids(nb::module_& m) {
  nb::class_<CentroidFrame>(m, "CentroidFrame", "Along which axes centroids are coded, and in which steps.")
      .def(nb::init<In<double>, In<double, 2>, In<double>, double>(), nb::arg("mean").noconvert(),
           nb::arg("axes").noconvert(), nb::arg("steps").noconvert(), nb::arg("error_step"));
  nb::class_<CentroidCodes>(m, "CentroidCodes", "The codes of the centroids of a part.")
      .def(nb::init<const CentroidFrame&, In<std::int8_t>>(), nb::arg("frame"), nb::arg("codes").noconvert());
  nb::class_<CentroidDocuments>(m, "CentroidPart", "Documents whose centroids are asked for.")
      .def(nb::init<const ListPart&>(), nb::arg("counts"))
      .def(nb::init<const Weighed&, const Weights&, double>(), nb::arg("documents"), nb::arg("weights"),
           nb::arg("apart"));
  m.def("centroids_of", &centroids, nb::arg("parts"), nb::arg("vectors").noconvert(), nb::arg("rows").noconvert(),
        nb::arg("out").noconvert(), nb::arg("apart").noconvert(),
        "The centroids of some rows, and the lengths of what their words without a vector add.");
  m.def("encode_centroids", &encoded, nb::arg("part"), nb::arg("vectors").noconvert(), nb::arg("frame"),
        nb::arg("codes").noconvert(), nb::arg("threads"), "The codes of the centroids of all rows of a part.");
  nb::class_<CentroidQuery>(m, "CentroidQuery", "A query of the word centroid distance against stored documents.")
      .def(nb::init<const In<std::int32_t>&, const In<float>&, const In<std::int32_t>&, const In<float>&,
                    const In<float>&, In<float, 2>>(),
           nb::arg("words").noconvert(), nb::arg("masses").noconvert(), nb::arg("others").noconvert(),
           nb::arg("other_masses").noconvert(), nb::arg("new_masses").noconvert(), nb::arg("vectors").noconvert())
      .def("nearest", &CentroidQuery::nearest, nb::arg("parts"), nb::arg("codes"), nb::arg("allowed").noconvert().none(),
           nb::arg("threads"), nb::arg("rows").noconvert(), nb::arg("distances").noconvert(),
           "The nearest rows; how many there are and how many documents were compared in full.")
      .def("distances", &CentroidQuery::distances, nb::arg("parts"), nb::arg("rows").noconvert(),
           nb::arg("out").noconvert(), "The distances of some rows.");
}

}  // namespace wordferry
