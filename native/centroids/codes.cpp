#include "centroids/codes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/at.hpp"
#include "support/pool.hpp"

namespace wordferry {

namespace {

constexpr double float_error = 6e-8;           // what one operation in float32 may be off, relative to its result
constexpr float rounding_down = 1.0f - 4e-6f;  // times a length in float32: no longer than the true one
constexpr float rounding_up = 1.0f + 8e-6f;    // and longer than one that is no longer than it
constexpr std::int8_t cut_short = 127;         // the note of a code that is off by more than its square can say
constexpr float far_off = 1e30f;
constexpr float most_steps = 127.0f;

// How far the root of a square may be off that is itself off by `error`.
double root_error(double root, double error) { return std::min(std::sqrt(error), root > 0.0 ? error / root : far_off); }

// Codes values in steps; answers the sum of the squares of what the codes are off.
template <std::size_t Count>
float coded(const float* values, const std::array<float, Count>& steps, std::int8_t* codes) {
  float squares = 0.0f, offs[Count];
  for (std::size_t c = 0; c < Count; ++c) {
    const float in_steps = std::clamp(values[c] / steps[c], -most_steps, most_steps);
    const float code = std::nearbyint(in_steps), off = values[c] - steps[c] * code;
    codes[c] = static_cast<std::int8_t>(code);
    offs[c] = off * off;
  }
  for (const float off : offs) squares += off;
  return squares;
}

}  // namespace

CentroidCodes::CentroidCodes(const CodeFrame& frame)
    : dimensions_(frame.dimensions), mean_(frame.mean, frame.mean + frame.dimensions),
      turned_(at(dimensions_ * padded_axes)) {
  const std::int64_t axes = frame.axis_count;
  double squares = 0.0;
  const auto step = [&](bool is_there, std::int64_t c) {
    const double found = std::max(is_there ? frame.most[c] : 0.0, 1e-6) / static_cast<double>(most_steps);
    squares += is_there ? found * found : 0.0;
    return static_cast<float>(found);
  };
  for (std::int64_t a = 0; a < most_axes; ++a) {
    for (std::int64_t d = 0; a < axes && d < dimensions_; ++d)
      turned_[at(d * padded_axes + a)] = static_cast<float>(frame.axes[a * dimensions_ + d]);
    (a < first_axes ? first_steps_[at(a)] : other_steps_[at(a - first_axes)]) = step(a < axes, a);
  }
  first_steps_[at(first_axes)] = step(true, axes);
  other_steps_[at(other_axes)] = step(true, axes + 1);
  first_steps_[at(first_axes + 1)] = step(true, axes + 2);
  error_step_ = static_cast<float>(std::sqrt(squares) / 1024.0);  // most codes are half a step off or less
}

// `error` is how far the centroid is off, `apart` the square of what words without a vector add.
template <class Sum>
CentroidPoint CentroidCodes::place(const Sum* centroid, double apart, double error) const {
  Sum axes[padded_axes] = {};
  double squares = 0.0;
  for (std::int64_t d = 0; d < dimensions_; ++d) {
    const Sum off = centroid[d] - static_cast<Sum>(mean_[at(d)]);
    const float* const row = turned_.data() + d * padded_axes;
    for (std::int64_t a = 0; a < padded_axes; ++a) axes[a] += off * static_cast<Sum>(row[a]);
    squares += static_cast<double>(off) * static_cast<double>(off);
  }
  double outside_first = squares, outside = squares;
  for (std::int64_t a = 0; a < most_axes; ++a) {
    const double along = static_cast<double>(axes[a]) * static_cast<double>(axes[a]);
    if (a < first_axes) outside_first -= along;
    outside -= along;
  }
  outside_first = dimensions_ > first_axes ? std::sqrt(std::max(outside_first, 0.0)) : 0.0;
  outside = dimensions_ > most_axes ? std::sqrt(std::max(outside, 0.0)) : 0.0;
  const double length = std::sqrt(squares), across = std::sqrt(apart);
  constexpr double step_error = static_cast<double>(std::numeric_limits<Sum>::epsilon());
  static_assert(most_axes <= 9 * 9);
  const double turned = step_error * static_cast<double>(dimensions_ + 8) * 9.0 * length;
  // How far the squares of the two lengths may be off, also because the axes are in float32.
  const double lengths = (3.0 * turned + 20.0 * float_error * length) * length;
  CentroidPoint point;
  for (std::int64_t a = 0; a < first_axes; ++a) point.first[at(a)] = static_cast<float>(axes[a]);
  for (std::int64_t a = 0; a < other_axes; ++a) point.others[at(a)] = static_cast<float>(axes[first_axes + a]);
  point.first[at(first_axes)] = static_cast<float>(outside_first);
  point.first[at(first_axes + 1)] = static_cast<float>(across);
  point.others[at(other_axes)] = static_cast<float>(outside);
  point.error = error + turned + 8.0 * float_error * (length + across);
  const double least = dimensions_ > most_axes ? outside : outside_first;  // which is the more wrong of the two
  if (dimensions_ > first_axes) point.error += root_error(least, lengths);
  return point;
}

void CentroidCodes::write(const CentroidPoint& point, std::int64_t row) {
  std::int8_t first[first_axes + 2];
  const float squares = coded(point.first.data(), first_steps_, first);
  const float others = coded(point.others.data(), other_steps_, others_.data() + row * other_bytes);
  std::int8_t* const lane = groups_.data() + row / code_group * group_bytes + row % code_group;
  for (std::int64_t c = 0; c < first_axes + 2; ++c) lane[c * code_group] = first[c];
  const double error = std::sqrt(static_cast<double>(squares + others)) * (1.0 + 1e-5) + point.error;
  const double note = std::ceil(std::sqrt(error / static_cast<double>(error_step_)));
  lane[(first_axes + 2) * code_group] = static_cast<std::int8_t>(std::min(note, static_cast<double>(cut_short)));
}

void CentroidCodes::encode(const SearchedPart& part, const WordVectors& vectors, int threads, Watch& watch) {
  constexpr std::int64_t block_rows = 1024;
  double longest = 0.0;
  for (std::int64_t row = 0; row < vectors.vectors; ++row) {
    float squares = 0.0f;
    const float* const vector = vectors.data + row * dimensions_;
    for (std::int64_t d = 0; d < dimensions_; ++d) squares += vector[d] * vector[d];
    longest = std::max(longest, static_cast<double>(squares));
  }
  longest = std::sqrt(longest) * 1.001;
  rows_ = part.bags.rows;
  groups_.assign(at((rows_ + code_group - 1) / code_group * group_bytes), 0);
  others_.assign(at(rows_ * other_bytes), 0);
  const auto body = [&](std::int64_t block, int) {
    Centroid<float> centroid(vectors);
    Pace pace(watch);
    for (std::int64_t row = block * block_rows; row < std::min((block + 1) * block_rows, rows_); ++row) {
      pace.spend(1 << 12);
      if (row + 1 < rows_) part.bags.each(row + 1, [&](std::int32_t word, std::int32_t) { centroid.fetch_word(word); });
      centroid.read(part, row);
      const double error = float_error * static_cast<double>(centroid.words() + 4) * longest;  // of a sum in float32
      write(place(centroid.sum().data(), vectors.apart * centroid.apart_squares(), error), row);
    }
  };
  for_blocks((rows_ + block_rows - 1) / block_rows, threads, body, watch);
}

PlacedQuery CentroidCodes::place(const CentroidTarget& query, const WordVectors& vectors) const {
  double squares = query.new_squares;
  for (const MassApart& one : query.apart) squares += static_cast<double>(one.mass) * static_cast<double>(one.mass);
  const CentroidPoint point = place(query.centroid.data(), vectors.apart * squares, 0.0);
  return {point.first, point.others, static_cast<float>(vectors.apart * squares * (1.0 - 1e-6)),
          static_cast<float>(point.error * (1.0 + 1e-6))};
}

std::uint32_t CentroidCodes::near(std::int64_t row, const PlacedQuery& query, const float* shared, float limit,
                                  float* squares) const {
  const std::int8_t* const codes = groups_.data() + row / code_group * group_bytes;
  // Words that a document does not have stand at right angles to it. The others together add a side as long as the
  // root of `shared`, and the document's can at best point the same way.
  float apart[code_group], all[code_group];
  const float apart_step = first_steps_[at(first_axes + 1)];
  for (std::int64_t l = 0; l < code_group; ++l) {
    const float off = std::sqrt(shared[l]) - apart_step * static_cast<float>(codes[(first_axes + 1) * code_group + l]);
    apart[l] = off * off + std::max(query.apart - shared[l], 0.0f);
  }
  Lanes sums, off, step;
  const auto add = [&](std::int64_t c) WF_INLINE_LAMBDA {
    fill_lanes(step, first_steps_[at(c)]);
    load(off, codes + c * code_group);
    off = query.first[at(c)] - step * off;
    sums += off * off;
  };
  load(sums, apart);
  for (std::int64_t a = 0; a < first_axes; ++a) add(a);
  store(squares, sums);
  add(first_axes);
  store(all, sums);
  const std::int8_t* const notes = codes + (first_axes + 2) * code_group;
  bool any = false;
  for (std::int64_t l = 0; l < code_group; ++l) {
    const float reach = (limit + query.error + off_by(notes[l])) * rounding_up;
    all[l] -= reach * reach;
    any |= all[l] <= 0.0f;
  }
  std::uint32_t found = 0;
  for (std::uint32_t l = 0; any && l < code_group; ++l) found |= (all[l] <= 0.0f ? 1u : 0u) << l;
  return found;
}

float CentroidCodes::bound(std::int64_t row, const PlacedQuery& query, float squares) const {
  const std::int8_t* const codes = others_.data() + row * other_bytes;
  float offs[lane_count] = {};
  static_assert(other_bytes % lane_width == 0);
  for (std::int64_t c = 0; c < other_bytes; ++c) {
    const float off = query.others[at(c)] - other_steps_[at(c)] * static_cast<float>(codes[c]);
    offs[c % lane_width] += off * off;
  }
  for (const float one : offs) squares += one;
  const std::int8_t* const group = groups_.data() + row / code_group * group_bytes;
  const float error = off_by(group[(first_axes + 2) * code_group + row % code_group]) + query.error;
  return std::max(std::sqrt(squares) * rounding_down - error, 0.0f);
}

}  // namespace wordferry
