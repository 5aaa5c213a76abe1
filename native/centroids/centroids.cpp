#include "centroids/centroids.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "centroids/codes.hpp"
#include "support/at.hpp"
#include "support/pool.hpp"

namespace wordferry {

namespace {

// A query against one part.
struct PartQuery {
  const SearchedPart& part;
  const CentroidCodes& codes;
  PlacedQuery placed;
};

// shared[row] = the square of what those of the query's words without a vector add that a document of a block has.
void add_shared(const StoredLists& lists, std::int64_t block, const CentroidTarget& target, double apart,
                std::vector<float>& shared) {
  shared.assign(at(list_block_rows), 0.0f);
  if (target.apart.empty()) return;
  const BlockLists all(lists, block);
  for (const MassApart& one : target.apart) {
    const ListedRows found = all.find(one.word);
    const double square = apart * static_cast<double>(one.mass) * static_cast<double>(one.mass);
    const auto more = static_cast<float>(square * (1.0 + 1e-6));
    if (found.bits != nullptr) {
      each_bit(found.bits, all.groups(), [&](std::int64_t row) { shared[at(row)] += more; });
      continue;  // the list repeats some of these
    }
    for (std::int64_t j = 0; j < found.size; ++j) shared[found.rows[j]] += more;
  }
}

// The rows from a first one to the end of its block, or fewer.
struct RowRange {
  std::size_t part;
  std::int64_t first, end;
};

// All rows; the first ranges are short, because what they have nearest says what others need not keep.
std::vector<RowRange> ranges_of(const std::vector<SearchedPart>& parts) {
  constexpr std::int64_t shortest = 1 << 10, longer = 1 << 3;
  std::vector<RowRange> ranges;
  std::int64_t size = shortest;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::int64_t first = 0; first < parts[p].bags.rows; first = ranges.back().end) {
      const std::int64_t block_end = (first / list_block_rows + 1) * list_block_rows;
      ranges.push_back({p, first, std::min({first + size, block_end, parts[p].bags.rows})});
      size = std::min(size * longer, list_block_rows);
    }
  }
  return ranges;
}

// The allowed rows of a range whose bounds do not exceed the limit.
std::vector<NearRow> near_codes(const PartQuery& query, const RowRange& range, const CentroidTarget& target,
                                double apart, float limit) {
  constexpr std::size_t ahead = 8;
  static thread_local std::vector<float> shared;
  const CentroidCodes& codes = query.codes;
  const bool* const allowed = query.part.allowed;
  std::vector<NearRow> rows;
  add_shared(query.part.lists, range.first / list_block_rows, target, apart, shared);
  for (std::int64_t low = range.first; low < range.end; low += code_group) {
    float squares[code_group];
    std::uint32_t near = codes.near(low, query.placed, shared.data() + low % list_block_rows, limit, squares);
    for (; near != 0; near &= near - 1) {
      const int lane = std::countr_zero(near);
      const bool counts = low + lane < range.end && (allowed == nullptr || allowed[low + lane]);
      if (counts) rows.push_back({squares[lane], low + lane});
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + ahead < rows.size()) codes.fetch(rows[i + ahead].row);
    const float bound = codes.bound(rows[i].row, query.placed, rows[i].value);
    if (bound <= limit) rows[kept++] = {bound, query.part.start + rows[i].row};
  }
  rows.resize(kept);
  return rows;
}

float distance_to(const std::vector<SearchedPart>& parts, const CentroidTarget& query, double apart, std::int64_t row,
                  Centroid<double>& document) {
  const SearchedPart& part = part_of(parts, row);
  document.read(part, row - part.start);
  double squares = apart > 0.0 ? apart * document.apart_squares(query) : 0.0;
  for (std::size_t d = 0; d < query.centroid.size(); ++d) {
    const double off = query.centroid[d] - document.sum()[d];
    squares += off * off;
  }
  return document.empty() ? std::numeric_limits<float>::infinity() : static_cast<float>(std::sqrt(squares));
}

}  // namespace

void centroids_of(const std::vector<SearchedPart>& parts, const WordVectors& vectors, const std::int64_t* rows,
                  std::int64_t count, double* out, double* apart, Watch& watch) {
  Pace pace(watch);
  Centroid<double> centroid(vectors);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 10);
    const SearchedPart& part = part_of(parts, rows[i]);
    centroid.read(part, rows[i] - part.start);
    std::copy(centroid.sum().begin(), centroid.sum().end(), out + i * vectors.dimensions);
    apart[i] = std::sqrt(vectors.apart * centroid.apart_squares());
  }
}

NearestDocuments nearest_by_codes(const std::vector<SearchedPart>& parts,
                                  const std::vector<const CentroidCodes*>& codes, const WordVectors& vectors,
                                  const CentroidTarget& query, std::int64_t k, int threads, Watch& watch) {
  if (k <= 0) return {};
  const std::vector<RowRange> ranges = ranges_of(parts);
  std::vector<PartQuery> queries;
  for (std::size_t p = 0; p < parts.size(); ++p)
    queries.push_back({parts[p], *codes[p], codes[p]->place(query, vectors)});
  Centroid<double> document(vectors);
  Compared compared(k, [&](std::int64_t row) { return distance_to(parts, query, vectors.apart, row, document); });
  std::atomic<float> limit{compared.worst()};
  std::mutex comparing;
  const auto body = [&](std::int64_t number, int) {
    const RowRange& range = ranges[at(number)];
    std::vector<NearRow> rows = near_codes(queries[range.part], range, query, vectors.apart, limit);
    const std::lock_guard<std::mutex> one_at_a_time(comparing);
    compare_rising(rows, compared, 0.0f, watch);
    limit = compared.worst();
  };
  for_blocks(static_cast<std::int64_t>(ranges.size()), threads, body, watch);
  return std::move(compared).found();
}

void centroid_distances(const std::vector<SearchedPart>& parts, const WordVectors& vectors, const CentroidTarget& query,
                        const std::int64_t* rows, std::int64_t count, float* out, Watch& watch) {
  Centroid<double> document(vectors);
  Pace pace(watch);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 12);
    out[i] = distance_to(parts, query, vectors.apart, rows[i], document);
  }
}

}  // namespace wordferry
