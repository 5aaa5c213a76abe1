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

namespace wordferry {

constexpr std::int64_t code_group = 16;  // documents whose codes lie side by side

// How centroids of a part were coded.
struct CodeFrame {
  const double* mean;   // [dimensions]
  const double* axes;   // [coordinates - 1][dimensions], orthonormal
  const double* steps;  // [coordinates]: what a code of 1 stands for
  double error_step;    // what 1 stands for in the note of how far a code is off; 127 is any number
  std::int64_t dimensions, coordinates;

  // Bytes of the codes of so many documents: groups of [coordinates + 1][16], the last line being the notes.
  std::int64_t bytes(std::int64_t rows) const {
    return (rows + code_group - 1) / code_group * code_group * (coordinates + 1);
  }
};

struct Vectors {
  const float* data;  // [words][dimensions]
  std::int64_t words, dimensions;
};

// out[i] = the centroid of a row. False when a row leads outside.
bool centroids_of(const std::vector<SearchedPart>& parts, const Vectors& vectors, const std::int64_t* rows,
                  std::int64_t count, double* out, Watch& watch);

// Writes the codes of all rows of a part. False as above.
bool encode_centroids(const SearchedPart& part, const Vectors& vectors, const CodeFrame& frame, std::int8_t* codes,
                      int threads, Watch& watch);

struct CodedPart {
  CodeFrame frame;
  const std::int8_t* codes;
};

// The k nearest of the allowed rows by the distance of their centroids to `centroid`.
bool nearest_by_codes(const std::vector<SearchedPart>& parts, const std::vector<CodedPart>& codes,
                      const Vectors& vectors, const double* centroid, std::int64_t k, int threads, NearestRows& found,
                      Watch& watch);

// The distances of some rows.
bool centroid_distances(const std::vector<SearchedPart>& parts, const Vectors& vectors, const double* centroid,
                        const std::int64_t* rows, std::int64_t count, float* out, Watch& watch);

// The centroid of masses over words, as those of documents are made.
void add_vector(const float* vector, std::int64_t dimensions, float mass, double* sum);

}  // namespace wordferry
