// Word centroid distances to stored documents, exact, through codes of their centroids.
//
// A code has 8 bits for each coordinate of a centroid along a few orthonormal axes, and for the length of what lies
// outside of them: the distance of two such points is never above that of the centroids. How far the code is off is
// noted with it. So a code bounds the distance from below, and the documents that it cannot rule out are compared by
// their own words and vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "lists/nearest.hpp"
#include "lists/weighed.hpp"

namespace wordferry {

constexpr std::int64_t code_group = 16;  // documents whose codes lie side by side

// How centroids of a part were coded.
struct CodeFrame {
  const double* mean;   // [dimensions]
  const double* axes;   // [axis_count][dimensions], orthonormal
  std::int64_t axis_count;
  // [coordinates]: what a code of 1 stands for. Behind the axes comes the length of what lies outside of them, and
  // where there is one more the length of what words without a vector add.
  const double* steps;
  double error_step;    // what 1 stands for in the note of how far a code is off; 127 is any number
  std::int64_t dimensions, coordinates;

  bool has_apart() const { return coordinates > axis_count + 1; }

  // Bytes of the codes of so many documents: groups of [coordinates + 1][16], the last line being the notes.
  std::int64_t bytes(std::int64_t rows) const {
    return (rows + code_group - 1) / code_group * code_group * (coordinates + 1);
  }
};

struct Vectors {
  const float* data;  // [words][dimensions]
  std::int64_t words, dimensions;
};

// Documents whose centroids are asked for.
struct CentroidPart {
  WeighedPart documents;
  bool weighed = false;  // else words with a vector count as often as they stand there, and nothing but `known` is read
  WordWeights weights{};
  // Words without a vector, where they count: each has a dimension of its own, and the square of its length is this.
  double apart = 0.0;
};

struct OtherMass {
  std::int32_t word;
  float mass;
};

// What a query is compared by.
struct CentroidTarget {
  std::vector<double> centroid;
  std::vector<OtherMass> others;  // words without a vector, rising
  double new_squares = 0.0;       // of the masses of such words that no document has
};

// out[i] = the centroid of a row, and apart[i] the length of what its words without a vector add. False when a row leads
// outside.
bool centroids_of(const std::vector<CentroidPart>& parts, const Vectors& vectors, const std::int64_t* rows,
                  std::int64_t count, double* out, double* apart, Watch& watch);

// Writes the codes of all rows of a part. False as above.
bool encode_centroids(const CentroidPart& part, const Vectors& vectors, const CodeFrame& frame, std::int8_t* codes,
                      int threads, Watch& watch);

struct CodedPart {
  CodeFrame frame;
  const std::int8_t* codes;
};

// The k nearest of the allowed rows by the distance of their centroids to that of the query.
bool nearest_by_codes(const std::vector<CentroidPart>& parts, const std::vector<CodedPart>& codes,
                      const Vectors& vectors, const CentroidTarget& query, std::int64_t k, int threads, NearestRows& found,
                      Watch& watch);

// The distances of some rows.
bool centroid_distances(const std::vector<CentroidPart>& parts, const Vectors& vectors, const CentroidTarget& query,
                        const std::int64_t* rows, std::int64_t count, float* out, Watch& watch);

// The centroid of masses over words, as those of documents are made.
void add_vector(const float* vector, std::int64_t dimensions, float mass, double* sum);

}  // namespace wordferry
