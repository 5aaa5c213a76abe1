// Documents as vectors of unit length in codes of one byte each, scanned for those nearest to a query.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "stored/views.hpp"
#include "support/best.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t scanned_rows = 512;
constexpr double fixed_parts = 1 << 18;

// Row i is codes[i] * scales[i]; a document without a vector has the scale 0. The arrays are mapped from a file.
struct CodedDocuments {
  CodedDocuments(In<std::int8_t, 2> all_codes, In<float> all_scales)
      : codes(std::move(all_codes)), scales(std::move(all_scales)) {
    require(codes.length() == scales.length(), "one scale for each document");
  }

  In<std::int8_t, 2> codes;
  In<float> scales;
};

// The cosines of some documents in parts of 2^18, added up in whole numbers: any order gives the same sums.
struct CosineSums {
  std::int64_t count = 0, sum = 0, squares = 0;
};

// Products of whole numbers: every CPU gives the same ones, in whichever order they are added.
void products(const std::int8_t* codes, const In<std::int16_t>& query, std::int64_t rows, std::int32_t* out) {
  const std::int16_t* const levels = query.data();
  const std::int64_t dimension = query.length();
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int8_t* const row = codes + i * dimension;
    std::int32_t sum = 0;
    for (std::int64_t j = 0; j < dimension; ++j) sum += static_cast<std::int32_t>(row[j]) * levels[j];
    out[i] = sum;
  }
}

// From products to cosines; a row without a vector gets NaN, which no heap takes.
void cosines_of(const std::int32_t* products, const float* scales, double scale, std::int64_t rows, double* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const double cosine = static_cast<double>(products[i]) * static_cast<double>(scales[i]) * scale;
    const double bounded = cosine > 1.0 ? 1.0 : cosine > -1.0 ? cosine : -1.0;
    out[i] = scales[i] > 0.0f ? bounded : std::numeric_limits<double>::quiet_NaN();
  }
}

void add_up(const double* cosines, const bool* alive, std::int64_t rows, CosineSums& sums) {
  std::int64_t count = 0, sum = 0, squares = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool counted = cosines[i] == cosines[i] && (alive == nullptr || alive[i]);
    const auto value = static_cast<std::int32_t>(counted ? cosines[i] * fixed_parts : 0.0);
    count += counted ? 1 : 0;
    sum += value;
    squares += static_cast<std::int64_t>(value) * value;
  }
  sums.count += count;
  sums.sum += sum;
  sums.squares += squares;
}

// Offers the cosine of every row that `allowed` admits, and adds up those of every row that is alive. The sum of
// |levels| is at most 2^24 - 1, so that products fit in 32 bits.
std::tuple<Made<std::int64_t>, Made<double>, std::int64_t, std::int64_t, std::int64_t> best_by_meaning(
    const std::vector<const CodedDocuments*>& parts, const In<std::int16_t>& levels, double scale, const Allowed& alive,
    const Allowed& allowed, std::int64_t k) {
  constexpr std::int64_t most = (1 << 24) - 1;
  std::int64_t sum = 0, documents = 0;
  for (const std::int16_t level : levels.span()) sum += std::abs(static_cast<std::int64_t>(level));
  require(sum <= most, "the levels of a query must not add up to more than 2^24 - 1");
  require(std::isfinite(scale) && scale >= 0, "the scale must be a finite number that is not negative");
  require_k(k);
  for (const CodedDocuments* part : parts) {
    require(part != nullptr, "a part must not be None");
    require(part->codes.length(1) == levels.length(), "documents and query must have one dimension");
    documents += part->codes.length();
  }
  const bool *const alive_rows = mask_of(alive, documents), *const allowed_rows = mask_of(allowed, documents);
  BestK<double, std::greater<double>> kept(k);
  CosineSums sums;
  run_native([&](Watch& watch) {
    Pace pace(watch);
    std::int32_t whole[scanned_rows];
    double cosines[scanned_rows];
    std::int64_t start = 0;  // of the rows of the part among those of all
    for (const CodedDocuments* part : parts) {
      const std::int64_t end = k > 0 ? part->codes.length() : 0;
      for (std::int64_t low = 0; low < end; low += scanned_rows) {
        const std::int64_t rows = std::min(scanned_rows, end - low), first = start + low;
        products(part->codes.data() + low * levels.length(), levels, rows, whole);
        cosines_of(whole, part->scales.data() + low, scale, rows, cosines);
        add_up(cosines, alive_rows == nullptr ? nullptr : alive_rows + first, rows, sums);
        kept.offer_all(cosines, rows, first, allowed_rows == nullptr ? nullptr : allowed_rows + first);
        pace.spend(rows * (levels.length() / 16 + 4));
      }
      start += end;
    }
  });
  auto [rows, cosines] = best_arrays(std::move(kept).sorted());
  return {std::move(rows), std::move(cosines), sums.count, sums.sum, sums.squares};
}

}  // namespace

void bind_meaning(nb::module_& m) {
  nb::class_<CodedDocuments>(m, "CodedDocuments", "Vectors of documents in codes of one byte, with a scale for each.")
      .def(nb::init<In<std::int8_t, 2>, In<float>>(), "codes"_in, "scales"_in);
  m.def("best_by_meaning", &best_by_meaning, "parts"_a, "levels"_in, "scale"_a, "alive"_in.none(), "allowed"_in.none(),
        "k"_a,
        "The documents with the largest cosines, and these; the count, the sum and the sum of squares of the cosines "
        "of those that are alive, in parts of 2^18.");
}

}  // namespace wordferry
