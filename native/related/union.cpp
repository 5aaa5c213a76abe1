// The union graph of own lists, and the step of k-means that is neither a matrix product nor a sum.
#include <algorithm>
#include <numeric>

#include "related/related.hpp"
#include "support/at.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t units_an_entry = 32;

struct GraphEntry {
  std::int32_t id;
  float distance;
  bool operator<(const GraphEntry& other) const { return id < other.id; }
};

bool lists(const std::int32_t* own, std::int64_t r, std::int64_t word, std::int32_t other) {
  const std::int32_t* row = own + word * r;
  return std::find(row, row + r, other) != row + r;
}

}  // namespace

WordGraph union_graph(const std::int32_t* own, const float* distances, std::int64_t n, std::int64_t r, Watch& watch) {
  Pace pace(watch);
  // Calls edge(i, j, distance) for both ends of each.
  const auto each_edge = [&](auto&& edge) {
    for (std::int64_t i = 0; i < n; ++i) {
      pace.spend(r * r);
      for (std::int64_t k = i * r; k < (i + 1) * r; ++k) {
        if (own[k] < 0) continue;
        edge(i, own[k], distances[k]);
        if (!lists(own, r, own[k], static_cast<std::int32_t>(i))) edge(own[k], i, distances[k]);
      }
    }
  };
  WordGraph graph{std::vector<std::int64_t>(at(n) + 1, 0), {}, {}};
  each_edge([&](std::int64_t i, std::int64_t, float) { ++graph.indptr[at(i) + 1]; });
  std::partial_sum(graph.indptr.begin(), graph.indptr.end(), graph.indptr.begin());
  graph.indices.resize(at(graph.indptr.back()));
  graph.data.resize(graph.indices.size());
  std::vector<std::int64_t> next(graph.indptr.begin(), graph.indptr.end() - 1);
  each_edge([&](std::int64_t i, std::int64_t j, float distance) {
    const std::size_t place = at(next[at(i)]++);
    graph.indices[place] = static_cast<std::int32_t>(j);
    graph.data[place] = distance;
  });
  std::vector<GraphEntry> row;
  for (std::size_t i = 0; i < at(n); ++i) {
    const std::size_t first = at(graph.indptr[i]), last = at(graph.indptr[i + 1]);
    pace.spend(units_an_entry * static_cast<std::int64_t>(last - first));
    row.clear();
    for (std::size_t k = first; k < last; ++k) row.push_back({graph.indices[k], graph.data[k]});
    std::sort(row.begin(), row.end());
    for (std::size_t k = first; k < last; ++k) {
      graph.indices[k] = row[k - first].id;
      graph.data[k] = row[k - first].distance;
    }
  }
  return graph;
}

void nearest_centroids(const float* products, const float* half_norms, std::int64_t rows, std::int64_t centroids,
                       std::int64_t count, std::int32_t* out) {
  std::vector<float> best(at(count));
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* product = products + row * centroids;
    std::int32_t* ids = out + row * count;
    std::int64_t held = 0;
    float worst = -std::numeric_limits<float>::infinity();
    for (std::int64_t c = 0; c < centroids; ++c) {
      const float score = product[c] - half_norms[c];
      if (held == count && !(score > worst)) continue;
      std::int64_t place = held < count ? held++ : count - 1;
      for (; place > 0 && best[at(place - 1)] < score; --place) {
        best[at(place)] = best[at(place - 1)];
        ids[place] = ids[place - 1];
      }
      best[at(place)] = score;
      ids[place] = static_cast<std::int32_t>(c);
      worst = best[at(held - 1)];
    }
  }
}

}  // namespace wordferry
