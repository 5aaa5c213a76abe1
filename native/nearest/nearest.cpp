#include "nearest/nearest.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include "nearest/list_bounds.hpp"
#include "nearest/panel_sums.hpp"

namespace wordferry {

namespace {

// Compares documents by the masses of their words, which are made in the same memory again and again.
class WeighedRows {
 public:
  WeighedRows(const std::vector<SearchedPart>& parts, const WordWeights& weights) : parts_(parts), weights_(weights) {}

  // The distance of a row to a query; false when arrays lead outside.
  bool distance(BlendedQuery& query, std::int64_t row, float& found) {
    if (!distance(query.words, row, found)) return false;
    const CosineShare& cosine = query.cosine;
    if (cosine.unit != nullptr && !words_.empty()) {
      const float moved = found * cosine.moved, unshared = cosine_of(query.words, cosine) * cosine.unshared;
      found = moved + unshared;
    }
    return true;
  }

 private:
  bool distance(TouchedQuery& query, std::int64_t row, float& distance) {
    const SearchedPart& part = part_of(parts_, row);
    words_.clear();
    values_.clear();
    double& total = total_ = 0.0;  // summed as everywhere else, one word after the other
    const bool sound =
        part.bags.read(row - part.start, weights_.count, [&](const auto* words, const auto* counts, auto size) {
          for (std::int64_t k = 0; k < size; ++k) {
            const double weight = weights_.values[words[k]];
            if (weight == 0.0) continue;
            words_.push_back(static_cast<std::int32_t>(words[k]));
            values_.push_back(part.repeats.times(static_cast<std::int64_t>(counts[k]), row - part.start) * weight);
            total += values_.back();
          }
        });
    distance = std::numeric_limits<float>::infinity();
    if (!sound || !(total > 0.0)) return sound;
    distance = query.value(words_.data(), static_cast<std::int64_t>(words_.size()), Side::both, [&](std::int64_t k) {
      return static_cast<float>(values_[static_cast<std::size_t>(k)] / total);
    });
    return true;
  }

  // The cosine distance of the row that was compared last, summed over the words of the query, two by two.
  float cosine_of(const TouchedQuery& query, const CosineShare& cosine) {
    double squares = 0.0;
    for (double& value : values_) {
      value = static_cast<double>(static_cast<float>(value / total_));  // the mass
      squares += value * value;
    }
    const double length = std::sqrt(squares);
    products_.assign(static_cast<std::size_t>(cosine.words), 0.0f);
    for (std::size_t k = 0; k < words_.size(); ++k) {
      values_[k] = static_cast<double>(static_cast<float>(values_[k] / length));
      const std::int32_t own = query.touched(words_[k]).own;
      if (own >= 0) products_[static_cast<std::size_t>(own)] = cosine.unit[own] * static_cast<float>(values_[k]);
    }
    const float found = 1.0f - moved_two_by_two(cosine.words, [&](std::int64_t k) { return products_[at(k)]; });
    return found < cosine.lost ? static_cast<float>(half_squared_difference(query, cosine)) : found;
  }

  double half_squared_difference(const TouchedQuery& query, const CosineShare& cosine) const {
    double sum = 0.0;
    std::int64_t next = 0;
    const auto add = [&](double difference) { sum += difference * difference; };
    for (std::size_t k = 0; k < words_.size(); ++k) {
      const std::int32_t own = query.touched(words_[k]).own;
      for (; next < own; ++next) add(cosine.unit[next]);
      add(values_[k] - (own < 0 ? 0.0 : static_cast<double>(cosine.unit[next++])));
    }
    for (; next < cosine.words; ++next) add(cosine.unit[next]);
    return 0.5 * sum;
  }

  const std::vector<SearchedPart>& parts_;
  const WordWeights& weights_;
  std::vector<std::int32_t> words_;
  std::vector<double> values_;  // what each of them counts times what it weighs
  double total_ = 0.0;
  std::vector<float> products_;
};

// What a document weighs on the average; 1 where there is none.
float mean_weight(const std::vector<SearchedPart>& parts) {
  double rows = 1.0, total = 1.0;
  for (const SearchedPart& part : parts) {
    rows += static_cast<double>(part.bags.rows);
    total += static_cast<double>(part.bags.rows) * static_cast<double>(part.mean_total);
  }
  return static_cast<float>(total / rows);
}

// The touched words of a query as the lists of all parts take them.
struct QueryLists {
  ListedWords words;
  BlockSums::Scale scale;

  QueryLists(const BlendedQuery& query, const WordWeights& weights, float mean)
      : words(query, weights),
        scale{query.words.c_max(), words.heaviest(query.words.c_max()), words.largest_product(), query.cosine} {
    words.let_stay(1.0f / mean);
  }

  // The bounds of a block, in the memory of this thread.
  ListBounds bounds(const SearchedPart& part, std::int64_t block, AllVisited& visited, Watch& watch) const {
    return ListBounds([&](BlockSums& sums) {
      Visited seen;
      sums.begin(part, block, scale);
      const bool sound = sums.add(part.lists, block, words, seen, watch);
      visited.add(seen);
      return sound;
    });
  }
};

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

bool nearest_by_lists(const std::vector<SearchedPart>& parts, const WordWeights& weights,
                      std::vector<BlendedQuery>& queries, float slack, std::int64_t k, int threads,
                      std::vector<NearestDocuments>& found, Watch& watch) {
  const std::vector<RowBlock> blocks = blocks_of(parts);
  found.assign(queries.size(), {});
  if (blocks.empty() || k <= 0 || queries.empty()) return true;
  const std::size_t first = std::max(static_cast<std::size_t>(k), least_first);
  const float c_max = queries.front().words.c_max();
  AllVisited visited;
  std::atomic<bool> sound{true};
  WeighedRows documents(parts, weights);
  const auto value = [&documents](BlendedQuery& query) {
    return [&documents, &query](std::int64_t row, float& distance) { return documents.distance(query, row, distance); };
  };
  std::vector<Compared<decltype(value(queries.front()))>> compared;
  std::vector<QueryLists> lists;
  const float mean = mean_weight(parts);
  std::vector<PanelRows> waiting(blocks.size());
  PanelLimits limits;
  limits.fill(-std::numeric_limits<float>::infinity());
  for (std::size_t q = 0; q < queries.size(); ++q) {
    lists.emplace_back(queries[q], weights, mean);
    compared.emplace_back(k, value(queries[q]));
    const ListBounds bounds = lists[q].bounds(parts[blocks[0].part], blocks[0].number, visited, watch);
    if (!look_first(bounds, compared[q], first, slack, waiting[0][q])) return false;
    limits[q] = compared[q].worst() + slack;
  }
  const auto one_by_one = [&](std::int64_t at, int) {
    const RowBlock& block = blocks[static_cast<std::size_t>(at + 1)];
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const ListBounds bounds = lists[q].bounds(parts[block.part], block.number, visited, watch);
      if (!bounds.sound()) {
        sound = false;
        return;
      }
      bounds.collect(limits[q], waiting[static_cast<std::size_t>(at + 1)][q]);
    }
  };
  const auto others = static_cast<std::int64_t>(blocks.size()) - 1;
  if (queries.size() == 1 || others == 0 || !together_pays(parts, blocks[0], visited.sum().nanoseconds)) {
    for_blocks(others, threads, one_by_one, watch);
  } else {
    std::vector<ListedWords> words;
    for (const QueryLists& one : lists) words.push_back(one.words);
    const PanelWords together(words, weights.count);
    const CosineShare& cosine = queries.front().cosine;
    const auto body = [&](std::int64_t at, int) {
      const RowBlock& block = blocks[static_cast<std::size_t>(at + 1)];
      PanelRows& rows = waiting[static_cast<std::size_t>(at + 1)];
      if (!collect_panel(parts[block.part], block.number, together, c_max, cosine, limits, rows, watch)) sound = false;
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

bool distances_of(const std::vector<SearchedPart>& parts, const WordWeights& weights, BlendedQuery& query,
                  const std::int64_t* rows, std::int64_t count, float* out, Watch& watch) {
  Pace pace(watch);
  WeighedRows documents(parts, weights);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 10);
    if (!documents.distance(query, rows[i], out[i])) return false;
  }
  return true;
}

}  // namespace wordferry
