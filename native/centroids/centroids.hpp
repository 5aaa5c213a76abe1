// Word centroid distances to stored documents, exact, through codes of their centroids.
//
// A code has 8 bits for each coordinate of a centroid along a few orthonormal axes, and for the length of what lies
// outside of them: the distance of two such points is never above that of the centroids. How far the code is off is
// noted with it. So a code bounds the distance from below, and the documents that it cannot rule out are compared by
// their own words and vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "nearest/nearest.hpp"
#include "stored/weights.hpp"

namespace wordferry {

constexpr std::int64_t code_group = 16;  // documents whose codes lie side by side

// How centroids of a part were coded.
struct CodeFrame {
  const double* mean;  // [dimensions]
  const double* axes;  // [axis_count][dimensions], orthonormal
  std::int64_t axis_count;
  // [coordinates]: what a code of 1 stands for. Behind the axes comes the length of what lies outside of them, and
  // where there is one more the length of what words without a vector add.
  const double* steps;
  double error_step;  // what 1 stands for in the note of how far a code is off; 127 is any number
  std::int64_t dimensions, coordinates;

  bool has_apart() const { return coordinates > axis_count + 1; }

  // Bytes of the codes of a number of documents: groups of [coordinates + 1][16], the last line being the notes.
  std::int64_t bytes(std::int64_t rows) const {
    return (rows + code_group - 1) / code_group * code_group * (coordinates + 1);
  }
};

// The vectors, what words weigh, and which vector a word has.
struct WordVectors {
  const float* data;  // [vectors][dimensions]
  std::int64_t vectors, dimensions;
  WordWeights weights;
  const std::int32_t* rows;  // by the number of a word: its vector, or -1
  // Words without a vector have a dimension each, and the square of its length is this; 0 where they do not count.
  double apart;
};

// The mass of a word that has no vector.
struct MassApart {
  std::int32_t word;
  float mass;
};

// What a query is compared by.
struct CentroidTarget {
  std::vector<double> centroid;
  std::vector<MassApart> apart;  // words without a vector, rising
  double new_squares = 0.0;      // of the masses of such words that no document has
};

// out[i] = the centroid of a row, and apart[i] the length of what its words without a vector add. False when a row
// leads outside.
bool centroids_of(const std::vector<SearchedPart>& parts, const WordVectors& vectors, const std::int64_t* rows,
                  std::int64_t count, double* out, double* apart, Watch& watch);

// Writes the codes of all rows of a part. False as above.
bool encode_centroids(const SearchedPart& part, const WordVectors& vectors, const CodeFrame& frame, std::int8_t* codes,
                      int threads, Watch& watch);

struct CodedPart {
  CodeFrame frame;
  const std::int8_t* codes;
};

// The k nearest of the allowed rows by the distance of their centroids to that of the query.
bool nearest_by_codes(const std::vector<SearchedPart>& parts, const std::vector<CodedPart>& codes,
                      const WordVectors& vectors, const CentroidTarget& query, std::int64_t k, int threads,
                      NearestDocuments& found, Watch& watch);

// The distances of some rows.
bool centroid_distances(const std::vector<SearchedPart>& parts, const WordVectors& vectors, const CentroidTarget& query,
                        const std::int64_t* rows, std::int64_t count, float* out, Watch& watch);

// The centroid of masses over words, as those of documents are made.
void add_vector(const float* vector, std::int64_t dimensions, float mass, double* sum);

}  // namespace wordferry
