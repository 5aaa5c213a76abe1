// Codes of the centroids of documents, a byte for each coordinate, and the bounds that they give.
//
// A centroid has coordinates along a few orthonormal axes; the length of what lies outside of them, and that of what
// words without a vector add, are two more: the distance of two such points is never above that of the centroids. How
// far a code is off is noted with it. The first axes, in which centroids differ most, rule most documents out: their
// codes lie side by side for sixteen documents, with the length of what lies outside of these axes. The codes along all
// others lie together for each document, and are read only for documents that are left.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "centroids/centroids.hpp"
#include "support/at.hpp"
#include "support/lanes.hpp"
#include "support/pool.hpp"

namespace wordferry {

constexpr std::int64_t code_group = 16;  // documents whose first codes lie side by side
constexpr std::int64_t first_axes = 31, other_axes = 47, most_axes = first_axes + other_axes;
constexpr std::int64_t padded_axes = 80;
constexpr std::int64_t group_bytes = (first_axes + 3) * code_group;
constexpr std::int64_t other_bytes = other_axes + 1;  // of a document: with the length outside of all axes

constexpr double float_error = 6e-8;           // what one operation in float32 may be off, relative to its result
constexpr float rounding_down = 1.0f - 4e-6f;  // times a length in float32: no longer than the true one
constexpr float rounding_up = 1.0f + 8e-6f;    // and longer than one that is no longer than it
constexpr std::int8_t cut_short = 127;         // the note of a code that is off by more than its square can say
constexpr float far_off = 1e30f;
constexpr float most_steps = 127.0f;

// Along which axes centroids are coded, and how far they reach.
struct CodeFrame {
  const double* mean;  // [dimensions]
  const double* axes;  // [axis_count][dimensions], orthonormal
  // [axis_count + 3]: the largest coordinates along the axes, the largest lengths outside of the first axes and of all,
  // and the largest length of what words without a vector add. Beyond them a code is cut short.
  const double* most;
  std::int64_t dimensions, axis_count;  // at most most_axes
};

// Along the first axes, the length outside of them, and that of what words without a vector add.
using FirstCoordinates = std::array<float, first_axes + 2>;
// Along the others, and the length outside of all.
using OtherCoordinates = std::array<float, other_bytes>;

// A centroid along the axes.
struct CentroidPoint {
  FirstCoordinates first;
  OtherCoordinates others;
  double error;  // how far it is off at most
};

// A query along the axes of a part.
struct PlacedQuery {
  FirstCoordinates first;
  OtherCoordinates others;
  float apart;  // the square of the length of what its words without a vector add
  float error;
};

// How far the root of a square may be off that is itself off by `error`.
inline double root_error(double root, double error) {
  return std::min(std::sqrt(error), root > 0.0 ? error / root : far_off);
}

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

class CentroidCodes {
 public:
  explicit CentroidCodes(const CodeFrame& frame)
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

  // Codes all rows of a part.
  void encode(const SearchedPart& part, const WordVectors& vectors, int threads, Watch& watch) {
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
        if (row + 1 < rows_)
          part.bags.each(row + 1, [&](std::int32_t word, std::int32_t) { centroid.fetch_word(word); });
        centroid.read(part, row);
        const double error = float_error * static_cast<double>(centroid.words() + 4) * longest;  // of a sum in float32
        write(place(centroid.sum().data(), vectors.apart * centroid.apart_squares(), error), row);
      }
    };
    for_blocks((rows_ + block_rows - 1) / block_rows, threads, body, watch);
  }

  PlacedQuery place(const CentroidTarget& query, const WordVectors& vectors) const {
    double squares = query.new_squares;
    for (const MassApart& one : query.apart) squares += static_cast<double>(one.mass) * static_cast<double>(one.mass);
    const CentroidPoint point = place(query.centroid.data(), vectors.apart * squares, 0.0);
    return {point.first, point.others, static_cast<float>(vectors.apart * squares * (1.0 - 1e-6)),
            static_cast<float>(point.error * (1.0 + 1e-6))};
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t dimensions() const { return dimensions_; }

  // Of the sixteen documents of the group that begins with a row: a bit for each whose first coordinates do not rule
  // out that it is as near as `limit`, and the squares that the other coordinates are added to. shared[lane] is the
  // square of what those of the query's words without a vector add that the document has.
  std::uint32_t near(std::int64_t row, const PlacedQuery& query, const float* shared, float limit,
                     float* squares) const {
    const std::int8_t* const codes = groups_.data() + row / code_group * group_bytes;
    // Words that a document does not have stand at right angles to it. The others together add a side as long as the
    // root of `shared`, and the document's can at best point the same way.
    float apart[code_group], all[code_group];
    const float apart_step = first_steps_[at(first_axes + 1)];
    for (std::int64_t l = 0; l < code_group; ++l) {
      const float off =
          std::sqrt(shared[l]) - apart_step * static_cast<float>(codes[(first_axes + 1) * code_group + l]);
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

  // The bound of one document by all coordinates, from the squares that near() gave.
  float bound(std::int64_t row, const PlacedQuery& query, float squares) const {
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

  void fetch(std::int64_t row) const { prefetch_line(others_.data() + row * other_bytes); }

 private:
  // `error` is how far the centroid is off, `apart` the square of what words without a vector add.
  template <class Sum>
  CentroidPoint place(const Sum* centroid, double apart, double error) const {
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

  void write(const CentroidPoint& point, std::int64_t row) {
    std::int8_t first[first_axes + 2];
    const float squares = coded(point.first.data(), first_steps_, first);
    const float others = coded(point.others.data(), other_steps_, others_.data() + row * other_bytes);
    std::int8_t* const lane = groups_.data() + row / code_group * group_bytes + row % code_group;
    for (std::int64_t c = 0; c < first_axes + 2; ++c) lane[c * code_group] = first[c];
    const double error = std::sqrt(static_cast<double>(squares + others)) * (1.0 + 1e-5) + point.error;
    const double note = std::ceil(std::sqrt(error / static_cast<double>(error_step_)));
    lane[(first_axes + 2) * code_group] = static_cast<std::int8_t>(std::min(note, static_cast<double>(cut_short)));
  }

  // What a note says: how far a code is off, at most.
  float off_by(std::int8_t note) const {
    return note < std::numeric_limits<std::int8_t>::max() ? static_cast<float>(note * note) * error_step_ : 1e30f;
  }

  std::int64_t dimensions_;
  std::vector<float> mean_, turned_;  // turned_[dimensions][padded_axes]: all axes are summed up side by side
  FirstCoordinates first_steps_;
  OtherCoordinates other_steps_;
  float error_step_;
  std::int64_t rows_ = 0;
  std::vector<std::int8_t> groups_, others_;
};

}  // namespace wordferry
