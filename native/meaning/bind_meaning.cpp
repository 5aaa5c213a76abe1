#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include "meaning/coded_vectors.hpp"
#include "stored/views.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

// Vectors that are mapped from a file.
struct CodedDocuments {
  CodedDocuments(const In<std::int8_t, 2>& codes, const In<float>& scales)
      : vectors{codes.data(), scales.data(), codes.length(), 0}, dimension(codes.length(1)), held(hold(codes, scales)) {
    require(codes.length() == scales.length(), "one scale for each document");
  }

  CodedVectors vectors;
  std::int64_t dimension;
  Held held;
};

using Found = std::tuple<std::int64_t, std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>>;

Found nearest_in_meaning(const std::vector<const CodedDocuments*>& parts, const In<std::int16_t>& levels, double scale,
                         const Allowed& alive, const Allowed& allowed, const Out<std::int64_t>& rows,
                         const Out<double>& cosines) {
  constexpr std::int64_t most = (1 << 24) - 1;
  std::int64_t sum = 0, documents = 0;
  for (std::int64_t i = 0; i < levels.length(); ++i) sum += std::abs(static_cast<std::int64_t>(levels.data()[i]));
  require(sum <= most, "the levels of a query must not add up to more than 2^24 - 1");
  require(std::isfinite(scale) && scale >= 0, "the scale must be a finite number that is not negative");
  require(rows.length() == cosines.length(), "rows and cosines must have the same length");
  std::vector<CodedVectors> own;
  for (const CodedDocuments* part : parts) {
    require(part != nullptr, "a part must not be None");
    require(part->dimension == levels.length(), "documents and query must have one dimension");
    own.push_back(part->vectors);
    own.back().start = documents;
    documents += own.back().rows;
  }
  const bool *const alive_rows = mask_of(alive, documents), *const allowed_rows = mask_of(allowed, documents);
  const CodedQuery query{levels.data(), levels.length(), scale};
  NearestByMeaning kept(rows.length());
  std::vector<CosineSums> sums(own.size());
  if (rows.length() > 0) {
    run_native([&](Watch& watch) {
      for (std::size_t i = 0; i < own.size(); ++i) {
        scan(own[i], query, alive_rows, allowed_rows, kept, sums[i], watch);
      }
    });
  }
  const auto found = std::move(kept).sorted();
  for (std::size_t i = 0; i < found.size(); ++i) {
    rows.data()[i] = found[i].row;
    cosines.data()[i] = found[i].value;
  }
  Found answer{static_cast<std::int64_t>(found.size()), {}};
  for (const CosineSums& one : sums) std::get<1>(answer).emplace_back(one.count, one.sum, one.squares);
  return answer;
}

}  // namespace

void bind_meaning(nb::module_& m) {
  nb::class_<CodedDocuments>(m, "CodedDocuments", "Vectors of documents in codes of one byte, with a scale for each.")
      .def(nb::init<const In<std::int8_t, 2>&, const In<float>&>(), "codes"_in, "scales"_in);
  m.def("best_by_meaning", &nearest_in_meaning, "parts"_a, "levels"_in, "scale"_a, "alive"_in.none(),
        "allowed"_in.none(), "rows"_in, "cosines"_in,
        "The documents with the largest cosines: how many there are, and for each part the count, the sum and the sum "
        "of squares of the cosines of those that are alive, in parts of 2^18.");
}

}  // namespace wordferry
