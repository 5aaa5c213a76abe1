// The union graph of own lists, and the step of k-means that is neither a matrix product nor a sum.
#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "support/at.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t units_an_entry = 32;

// A graph by rows, which are sorted.
struct WordGraph {
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<float> data;
};

struct GraphEntry {
  std::int32_t id;
  float distance;
  bool operator<(const GraphEntry& other) const { return id < other.id; }
};

bool lists(const std::int32_t* own, std::int64_t r, std::int64_t word, std::int32_t other) {
  const std::int32_t* row = own + word * r;
  return std::find(row, row + r, other) != row + r;
}

// The union graph of own lists (n x r, unused places hold -1): i and j are joined when either lists the other.
WordGraph join_graph(const std::int32_t* own, const float* distances, std::int64_t n, std::int64_t r, Watch& watch) {
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

std::tuple<Made<std::int64_t>, Made<std::int32_t>, Made<float>> union_graph(const In<std::int32_t, 2>& own,
                                                                            const In<float, 2>& distances) {
  const std::int64_t n = own.length(), r = own.length(1);
  require(distances.length() == n && distances.length(1) == r, "own and distances must have one shape");
  WordGraph graph;
  run_native([&](Watch& watch) {
    require_range(own, -1, n, "a word in a list is not among the words");
    graph = join_graph(own.data(), distances.data(), n, r, watch);
  });
  return {as_array(std::move(graph.indptr)), as_array(std::move(graph.indices)), as_array(std::move(graph.data))};
}

// For each row of inner products with k centroids, the `count` nearest centroids, nearest first, ties by smaller
// number: those with the largest product minus half the centroid's squared norm.
Made<std::int32_t, 2> nearest_centroids(const In<float, 2>& all_products, const In<float>& half_norms,
                                        std::int64_t count) {
  const std::int64_t rows = all_products.length(), centroids = all_products.length(1);
  require(half_norms.length() == centroids, "one norm for each centroid");
  require(count >= 1 && count <= centroids, "at least one, and not more than all centroids");
  auto out = make_array(std::int32_t{0}, rows, count);
  const float* const halves = half_norms.data();
  run_native([&](Watch&) {
    std::vector<float> best(at(count));
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* product = all_products.data() + row * centroids;
      std::int32_t* ids = out.data() + row * count;
      std::int64_t held = 0;
      float worst = -std::numeric_limits<float>::infinity();
      for (std::int64_t c = 0; c < centroids; ++c) {
        const float score = product[c] - halves[c];
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
  });
  return out;
}

}  // namespace

void bind_graph(nb::module_& m) {
  m.def("nearest_centroids", &nearest_centroids, "products"_in, "half_norms"_in, "count"_a,
        "The nearest centroids of each row, nearest first, from inner products and half squared norms.");
  m.def("union_graph", &union_graph, "own"_in, "distances"_in,
        "indptr, indices and data of the graph that joins i and j when either lists the other.");
}

}  // namespace wordferry
