// The union graph of own-neighbour lists: i and j are joined when either is among the other's r nearest.
#include <algorithm>
#include <utility>

#include "related/related.hpp"

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

void union_indptr(const std::int32_t* own, std::int64_t n, std::int64_t r, std::int64_t* indptr, Watch& watch) {
  Pace pace(watch);
  std::fill(indptr, indptr + n + 1, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    pace.spend(r * r);
    for (std::int64_t k = 0; k < r; ++k) {
      const std::int32_t j = own[i * r + k];
      if (j < 0) continue;
      ++indptr[i + 1];
      if (!lists(own, r, j, static_cast<std::int32_t>(i))) ++indptr[j + 1];
    }
  }
  for (std::int64_t i = 0; i < n; ++i) indptr[i + 1] += indptr[i];
}

void union_rows(const std::int32_t* own, const float* distances, std::int64_t n, std::int64_t r,
                const std::int64_t* indptr, std::int32_t* indices, float* data, Watch& watch) {
  Pace pace(watch);
  std::vector<std::int64_t> next(indptr, indptr + n);
  for (std::int64_t i = 0; i < n; ++i) {
    pace.spend(r * r);
    for (std::int64_t k = 0; k < r; ++k) {
      const std::int32_t j = own[i * r + k];
      if (j < 0) continue;
      indices[next[static_cast<std::size_t>(i)]] = j;
      data[next[static_cast<std::size_t>(i)]++] = distances[i * r + k];
      if (lists(own, r, j, static_cast<std::int32_t>(i))) continue;
      indices[next[static_cast<std::size_t>(j)]] = static_cast<std::int32_t>(i);
      data[next[static_cast<std::size_t>(j)]++] = distances[i * r + k];
    }
  }
  std::vector<GraphEntry> row;
  for (std::int64_t i = 0; i < n; ++i) {
    row.clear();
    pace.spend(units_an_entry * (indptr[i + 1] - indptr[i]));
    for (std::int64_t k = indptr[i]; k < indptr[i + 1]; ++k) row.push_back({indices[k], data[k]});
    std::sort(row.begin(), row.end());
    for (std::size_t k = 0; k < row.size(); ++k) {
      indices[indptr[i] + static_cast<std::int64_t>(k)] = row[k].id;
      data[indptr[i] + static_cast<std::int64_t>(k)] = row[k].distance;
    }
  }
}

}  // namespace wordferry
