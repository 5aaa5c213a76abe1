#include "related/kmeans.hpp"

#include <limits>
#include <vector>

namespace wordferry {

void nearest_centroids(const float* products, const float* half_norms, std::int64_t rows, std::int64_t centroids,
                       std::int64_t count, std::int32_t* out) {
  std::vector<float> best(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* product = products + row * centroids;
    std::int32_t* ids = out + row * count;
    std::int64_t held = 0;
    float worst = -std::numeric_limits<float>::infinity();
    for (std::int64_t c = 0; c < centroids; ++c) {
      const float score = product[c] - half_norms[c];
      if (held == count && !(score > worst)) continue;
      std::int64_t place = held < count ? held++ : count - 1;
      for (; place > 0 && best[static_cast<std::size_t>(place - 1)] < score; --place) {
        best[static_cast<std::size_t>(place)] = best[static_cast<std::size_t>(place - 1)];
        ids[place] = ids[place - 1];
      }
      best[static_cast<std::size_t>(place)] = score;
      ids[place] = static_cast<std::int32_t>(c);
      worst = best[static_cast<std::size_t>(held - 1)];
    }
  }
}

}  // namespace wordferry
