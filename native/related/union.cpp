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

bool lists(const std::int32_t* own, std::int64_t r, std::int64_t word, std::int32_t other) {
  const std::int32_t* row = own + word * r;
  return std::find(row, row + r, other) != row + r;
}

// indptr, indices and data of the union graph of own lists (n x r, unused places hold -1): i and j are joined when
// either lists the other. Its rows are sorted.
std::tuple<Made<std::int64_t>, Made<std::int32_t>, Made<float>> union_graph(const In<std::int32_t, 2>& own_lists,
                                                                            const In<float, 2>& distances) {
  const std::int64_t n = own_lists.length(), r = own_lists.length(1);
  require(distances.length() == n && distances.length(1) == r, "own and distances must have one shape");
  std::vector<std::int64_t> indptr(at(n) + 1, 0);
  std::vector<std::int32_t> indices;
  std::vector<float> data;
  run_native([&](Watch& watch) {
    require_range(own_lists, -1, n, "a word in a list is not among the words");
    const std::int32_t* const own = own_lists.data();
    Pace pace(watch);
    // Calls edge(i, j, distance) for both ends of each.
    const auto each_edge = [&](auto&& edge) {
      for (std::int64_t i = 0; i < n; ++i) {
        pace.spend(r * r);
        for (std::int64_t k = i * r; k < (i + 1) * r; ++k) {
          if (own[k] < 0) continue;
          edge(i, own[k], distances.data()[k]);
          if (!lists(own, r, own[k], static_cast<std::int32_t>(i))) edge(own[k], i, distances.data()[k]);
        }
      }
    };
    each_edge([&](std::int64_t i, std::int64_t, float) { ++indptr[at(i) + 1]; });
    std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
    indices.resize(at(indptr.back()));
    data.resize(indices.size());
    std::vector<std::int64_t> next(indptr.begin(), indptr.end() - 1);
    each_edge([&](std::int64_t i, std::int64_t j, float distance) {
      const std::size_t place = at(next[at(i)]++);
      indices[place] = static_cast<std::int32_t>(j);
      data[place] = distance;
    });
    std::vector<std::pair<std::int32_t, float>> row;
    for (std::size_t i = 0; i < at(n); ++i) {
      const std::size_t first = at(indptr[i]), last = at(indptr[i + 1]);
      pace.spend(units_an_entry * static_cast<std::int64_t>(last - first));
      row.clear();
      for (std::size_t k = first; k < last; ++k) row.emplace_back(indices[k], data[k]);
      std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t k = first; k < last; ++k) std::tie(indices[k], data[k]) = row[k - first];
    }
  });
  return {as_array(std::move(indptr)), as_array(std::move(indices)), as_array(std::move(data))};
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
