// Word centroid distances to stored documents, exact, through codes of their centroids: a code bounds the distance from
// below, and the documents that it cannot rule out are compared by their own words and vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "nearest/nearest.hpp"
#include "stored/weights.hpp"

namespace wordferry {

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

class CentroidCodes;

// The k nearest of the allowed rows by the distance of their centroids to that of the query.
bool nearest_by_codes(const std::vector<SearchedPart>& parts, const std::vector<const CentroidCodes*>& codes,
                      const WordVectors& vectors, const CentroidTarget& query, std::int64_t k, int threads,
                      NearestDocuments& found, Watch& watch);

// The distances of some rows.
bool centroid_distances(const std::vector<SearchedPart>& parts, const WordVectors& vectors, const CentroidTarget& query,
                        const std::int64_t* rows, std::int64_t count, float* out, Watch& watch);

// to += a vector times a mass, in the type of the sum.
template <class Sum>
void add_vector(const float* vector, std::int64_t dimensions, float mass, Sum* to) {
  for (std::int64_t d = 0; d < dimensions; ++d) to[d] += static_cast<Sum>(mass) * static_cast<Sum>(vector[d]);
}

}  // namespace wordferry
