// Codes of the centroids of documents, a byte for each coordinate, and the bounds that they give.
//
// A centroid has coordinates along a few orthonormal axes; the length of what lies outside of them, and that of what
// words without a vector add, are two more: the distance of two such points is never above that of the centroids. How
// far a code is off is noted with it. The first axes, in which centroids differ most, rule most documents out: their
// codes lie side by side for sixteen documents, with the length of what lies outside of these axes. The codes along all
// others lie together for each document, and are read only for documents that are left.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "centroids/centroids.hpp"
#include "support/lanes.hpp"

namespace wordferry {

constexpr std::int64_t code_group = 16;  // documents whose first codes lie side by side
constexpr std::int64_t first_axes = 31, other_axes = 47, most_axes = first_axes + other_axes;
constexpr std::int64_t padded_axes = 80;
constexpr std::int64_t group_bytes = (first_axes + 3) * code_group;
constexpr std::int64_t other_bytes = other_axes + 1;  // of a document: with the length outside of all axes

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

class CentroidCodes {
 public:
  explicit CentroidCodes(const CodeFrame& frame);

  // Codes all rows of a part.
  void encode(const SearchedPart& part, const WordVectors& vectors, int threads, Watch& watch);

  PlacedQuery place(const CentroidTarget& query, const WordVectors& vectors) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t dimensions() const { return dimensions_; }

  // Of the sixteen documents of the group that begins with a row: a bit for each whose first coordinates do not rule
  // out that it is as near as `limit`, and the squares that the other coordinates are added to. shared[lane] is the
  // square of what those of the query's words without a vector add that the document has.
  std::uint32_t near(std::int64_t row, const PlacedQuery& query, const float* shared, float limit,
                     float* squares) const;

  // The bound of one document by all coordinates, from the squares that near() gave.
  float bound(std::int64_t row, const PlacedQuery& query, float squares) const;

  void fetch(std::int64_t row) const { prefetch_line(others_.data() + row * other_bytes); }

 private:
  template <class Sum>
  CentroidPoint place(const Sum* centroid, double apart, double error) const;
  void write(const CentroidPoint& point, std::int64_t row);

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
