#include "lists/nearest.hpp"

#include <atomic>
#include <limits>

#include "lists/list_bounds.hpp"
#include "lists/panel_sums.hpp"

namespace wordferry {

namespace {

bool value_of(const std::vector<SearchedPart>& parts, TouchedQuery& query, std::int64_t row, float& distance) {
  const SearchedPart& part = part_of(parts, row);
  const float total = part.bags.totals[row - part.start];
  return part.bags.read(row - part.start, query.vocabulary(), [&](const auto* words, const auto* counts, auto size) {
    distance = std::numeric_limits<float>::infinity();
    if (!(total > 0.0f)) return;
    distance = query.value(words, size, Side::both, [&](std::int64_t k) { return mass_of(counts[k], total); });
  });
}

// How many different words a document has on the average, at least one.
double words_of_a_row(const std::vector<SearchedPart>& parts) {
  double stored = 1.0, rows = 1.0;
  for (const SearchedPart& part : parts) {
    stored += static_cast<double>(part.bags.stored);
    rows += static_cast<double>(part.bags.rows);
  }
  return std::max(stored / rows, 1.0);
}

// Whether walking all documents once costs less than walking the lists of each query, judged by its first block.
bool together_pays(const std::vector<SearchedPart>& parts, const RowBlock& first, double nanoseconds) {
  constexpr double word = 2.4;  // nanoseconds: a word of a document for all queries
  const SearchedPart& part = parts[first.part];
  const double rows = static_cast<double>(std::min(list_block_rows, part.bags.rows - first.number * list_block_rows));
  return nanoseconds / rows > words_of_a_row(parts) * word;
}

ListBounds bounds_of(const SearchedPart& part, std::int64_t block, const ListedWords& words, float c_max,
                     AllVisited& visited, Watch& watch) {
  return ListBounds([&](BlockSums& sums) {
    Visited seen;
    sums.begin(part, block, c_max);
    const bool sound = sums.add(part.lists, block, words, seen, watch);
    visited.add(seen);
    return sound;
  });
}

}  // namespace

std::vector<RowBlock> blocks_of(const std::vector<SearchedPart>& parts) {
  std::vector<RowBlock> blocks;
  std::size_t largest = 0;
  std::int64_t most = -1;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::int64_t b = 0; b * list_block_rows < parts[p].bags.rows; ++b) {
      const std::int64_t rows = std::min(list_block_rows, parts[p].bags.rows - b * list_block_rows);
      if (rows > most) {
        most = rows;
        largest = blocks.size();
      }
      blocks.push_back({p, b});
    }
  }
  if (!blocks.empty()) std::swap(blocks[0], blocks[largest]);
  return blocks;
}

bool nearest_by_lists(const std::vector<SearchedPart>& parts, TouchedQuery& query, float slack, std::int64_t k,
                      int threads, NearestRows& found, Watch& watch) {
  const std::vector<RowBlock> blocks = blocks_of(parts);
  if (blocks.empty() || k <= 0) return true;
  ListedWords words(query);
  words.let_stay(static_cast<float>(1.0 / words_of_a_row(parts)));
  AllVisited visited;
  Compared compared(k, [&](std::int64_t row, float& distance) { return value_of(parts, query, row, distance); });
  const auto bounded = [&](std::int64_t at) -> ListBounds {
    const RowBlock& block = blocks[static_cast<std::size_t>(at)];
    return bounds_of(parts[block.part], block.number, words, query.c_max(), visited, watch);
  };
  return search_by_lists(blocks.size(), bounded, compared, slack, k, threads, visited, found, watch);
}

bool nearest_of_panel(const std::vector<SearchedPart>& parts, std::vector<TouchedQuery>& queries, float slack,
                      std::int64_t k, int threads, std::vector<NearestRows>& found, Watch& watch) {
  const std::vector<RowBlock> blocks = blocks_of(parts);
  found.assign(queries.size(), {});
  if (blocks.empty() || k <= 0 || queries.empty()) return true;
  const std::size_t first = std::max(static_cast<std::size_t>(k), least_first);
  const float c_max = queries.front().c_max();
  AllVisited visited;
  std::atomic<bool> sound{true};
  const auto value = [&parts](TouchedQuery& query) {
    return [&parts, &query](std::int64_t row, float& distance) { return value_of(parts, query, row, distance); };
  };
  std::vector<Compared<decltype(value(queries.front()))>> compared;
  std::vector<ListedWords> words;
  std::vector<PanelRows> waiting(blocks.size());
  PanelLimits limits;
  limits.fill(-std::numeric_limits<float>::infinity());
  for (std::size_t q = 0; q < queries.size(); ++q) {
    words.emplace_back(queries[q]).let_stay(static_cast<float>(1.0 / words_of_a_row(parts)));
    compared.emplace_back(k, value(queries[q]));
    const ListBounds bounds = bounds_of(parts[blocks[0].part], blocks[0].number, words[q], c_max, visited, watch);
    if (!look_first(bounds, compared[q], first, slack, waiting[0][q])) return false;
    limits[q] = compared[q].worst() + slack;
  }
  const auto one_by_one = [&](std::int64_t at, int) {
    const RowBlock& block = blocks[static_cast<std::size_t>(at + 1)];
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const ListBounds bounds = bounds_of(parts[block.part], block.number, words[q], c_max, visited, watch);
      if (!bounds.sound()) {
        sound = false;
        return;
      }
      bounds.collect(limits[q], waiting[static_cast<std::size_t>(at + 1)][q]);
    }
  };
  const auto others = static_cast<std::int64_t>(blocks.size()) - 1;
  if (others == 0 || !together_pays(parts, blocks[0], visited.sum().nanoseconds)) {
    for_blocks(others, threads, one_by_one, watch);
  } else {
    const PanelWords together(words, queries.front().vocabulary());
    const auto body = [&](std::int64_t at, int) {
      const RowBlock& block = blocks[static_cast<std::size_t>(at + 1)];
      PanelRows& rows = waiting[static_cast<std::size_t>(at + 1)];
      if (!collect_panel(parts[block.part], block.number, together, c_max, limits, rows, watch)) sound = false;
    };
    for_blocks(others, threads, body, watch);
  }
  if (!sound) return false;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<NearRow>& all = waiting[0][q];
    for (std::size_t b = 1; b < waiting.size(); ++b) all.insert(all.end(), waiting[b][q].begin(), waiting[b][q].end());
    if (!compare_first(all, compared[q], slack, first) || !compare_rising(all, compared[q], slack, watch)) return false;
    found[q].evaluated = compared[q].evaluated();
    found[q].best = std::move(compared[q]).sorted();
  }
  found.front().visited = visited.sum().entries;
  return true;
}

bool distances_of(const std::vector<SearchedPart>& parts, TouchedQuery& query, const std::int64_t* rows,
                  std::int64_t count, float* out, Watch& watch) {
  Pace pace(watch);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 10);
    if (!value_of(parts, query, rows[i], out[i])) return false;
  }
  return true;
}

}  // namespace wordferry
