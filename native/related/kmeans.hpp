// k-means: the step that is neither a matrix product nor a sum.
#pragma once

#include <cstdint>

namespace wordferry {

// For each row of inner products with k centroids, the `count` nearest centroids, nearest first, ties by smaller
// number: those with the largest product minus half the centroid's squared norm. out is rows x count.
void nearest_centroids(const float* products, const float* half_norms, std::int64_t rows, std::int64_t centroids,
                       std::int64_t count, std::int32_t* out);

}  // namespace wordferry
