#include "meaning/coded_vectors.hpp"

#include <algorithm>
#include <limits>

namespace wordferry {

namespace {

constexpr std::int64_t scanned_rows = 512;
constexpr double fixed_parts = 1 << 18;

// Products of whole numbers: every CPU gives the same ones, in whichever order they are added.
void products(const std::int8_t* codes, const CodedQuery& query, std::int64_t rows, std::int32_t* out) {
  const std::int16_t* const levels = query.levels;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int8_t* const row = codes + i * query.dimension;
    std::int32_t sum = 0;
    for (std::int64_t j = 0; j < query.dimension; ++j) sum += static_cast<std::int32_t>(row[j]) * levels[j];
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

}  // namespace

void scan(const CodedVectors& part, const CodedQuery& query, const bool* alive, const bool* allowed,
          NearestByMeaning& best, CosineSums& sums, Watch& watch) {
  Pace pace(watch);
  std::int32_t whole[scanned_rows];
  double cosines[scanned_rows];
  for (std::int64_t low = 0; low < part.rows; low += scanned_rows) {
    const std::int64_t rows = std::min(scanned_rows, part.rows - low), first = part.start + low;
    products(part.codes + low * query.dimension, query, rows, whole);
    cosines_of(whole, part.scales + low, query.scale, rows, cosines);
    add_up(cosines, alive == nullptr ? nullptr : alive + first, rows, sums);
    best.offer_all(cosines, rows, first, allowed == nullptr ? nullptr : allowed + first);
    pace.spend(rows * (query.dimension / 16 + 4));
  }
}

}  // namespace wordferry
