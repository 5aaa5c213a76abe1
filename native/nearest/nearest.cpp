#include "nearest/nearest.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include "nearest/block_sums.hpp"
#include "nearest/panel_sums.hpp"
#include "support/at.hpp"

namespace wordferry {

namespace {

// Compares documents by the masses of their words, which are made in the same memory again and again.
class WeighedRows {
 public:
  WeighedRows(const std::vector<SearchedPart>& parts, const WordWeights& weights) : parts_(parts), weights_(weights) {}

  float distance(BlendedQuery& query, std::int64_t row) {
    const float found = distance(query.words, row);
    const CosineShare& cosine = query.cosine;
    if (cosine.unit == nullptr || words_.empty()) return found;
    const float moved = found * cosine.moved, unshared = cosine_of(query.words, cosine) * cosine.unshared;
    return moved + unshared;
  }

 private:
  float distance(TouchedQuery& query, std::int64_t row) {
    const SearchedPart& part = part_of(parts_, row);
    words_.clear();
    values_.clear();
    double& total = total_ = 0.0;  // summed as everywhere else, one word after the other
    part.bags.read(row - part.start, weights_.count, [&](const auto* words, const auto* counts, auto size) {
      for (std::int64_t k = 0; k < size; ++k) {
        const double weight = weights_.values[words[k]];
        if (weight == 0.0) continue;
        words_.push_back(static_cast<std::int32_t>(words[k]));
        values_.push_back(part.repeats.times(static_cast<std::int64_t>(counts[k]), row - part.start) * weight);
        total += values_.back();
      }
    });
    if (!(total > 0.0)) return std::numeric_limits<float>::infinity();
    return query.value(words_.data(), std::ssize(words_), Side::both,
                       [&](std::int64_t k) { return static_cast<float>(values_[at(k)] / total); });
  }

  // The cosine distance of the row that was compared last, summed over the words of the query, two by two.
  float cosine_of(const TouchedQuery& query, const CosineShare& cosine) {
    double squares = 0.0;
    for (double& value : values_) {
      value = static_cast<double>(static_cast<float>(value / total_));  // the mass
      squares += value * value;
    }
    const double length = std::sqrt(squares);
    products_.assign(at(cosine.words), 0.0f);
    for (std::size_t k = 0; k < words_.size(); ++k) {
      values_[k] = static_cast<double>(static_cast<float>(values_[k] / length));
      const std::int32_t own = query.touched(words_[k]).own;
      if (own >= 0) products_[at(own)] = cosine.unit[own] * static_cast<float>(values_[k]);
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
  BlockSums& bounds(const SearchedPart& part, std::int64_t block, Visited& visited, Watch& watch) const {
    BlockSums& sums = BlockSums::of_this_thread();
    sums.begin(part, block, scale);
    sums.add(part.lists, block, words, visited, watch);
    return sums;
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

struct RowBlock {
  std::size_t part;
  std::int64_t number, rows;
};

// The blocks of all parts, the largest first.
std::vector<RowBlock> blocks_of(const std::vector<SearchedPart>& parts) {
  std::vector<RowBlock> blocks;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::int64_t b = 0; b < blocks_for(parts[p].bags.rows); ++b) {
      blocks.push_back({p, b, std::min(list_block_rows, parts[p].bags.rows - b * list_block_rows)});
    }
  }
  const auto fewer = [](const RowBlock& a, const RowBlock& b) { return a.rows < b.rows; };
  if (!blocks.empty()) std::iter_swap(blocks.begin(), std::max_element(blocks.begin(), blocks.end(), fewer));
  return blocks;
}

// Whether walking all documents once costs less than walking the lists of each query, judged by its first block.
bool together_pays(const std::vector<SearchedPart>& parts, const RowBlock& first, double nanoseconds) {
  constexpr double word = 2.4;  // nanoseconds: a word of a document for all queries
  return nanoseconds / static_cast<double>(first.rows) > words_of_a_row(parts) * word;
}

}  // namespace

void nearest_by_lists(const std::vector<SearchedPart>& parts, const WordWeights& weights,
                      std::vector<BlendedQuery>& queries, float slack, std::int64_t k, int threads,
                      std::vector<NearestDocuments>& found, Watch& watch) {
  constexpr std::int64_t least_first = 32;  // rows that are compared to learn how near the k-th is
  const std::vector<RowBlock> blocks = blocks_of(parts);
  found.assign(queries.size(), {});
  if (blocks.empty() || k <= 0 || queries.empty()) return;
  const std::int64_t first = std::max(k, least_first);
  Visited seen;
  WeighedRows documents(parts, weights);
  const auto value = [&documents](BlendedQuery& query) {
    return [&documents, &query](std::int64_t row) { return documents.distance(query, row); };
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
    BlockSums& bounds = lists[q].bounds(parts[blocks[0].part], blocks[0].number, seen, watch);
    for (const NearRow& one : bounds.take_lowest(first)) compared[q].put(one.row);
    limits[q] = compared[q].worst() + slack;
    bounds.collect(limits[q], waiting[0][q]);
  }
  std::atomic<std::int64_t> visited{seen.entries};
  const auto one_by_one = [&](std::int64_t number, int) {
    const RowBlock& block = blocks[at(number + 1)];
    Visited here;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const BlockSums& bounds = lists[q].bounds(parts[block.part], block.number, here, watch);
      bounds.collect(limits[q], waiting[at(number + 1)][q]);
    }
    visited += here.entries;
  };
  const auto others = static_cast<std::int64_t>(blocks.size()) - 1;
  if (queries.size() == 1 || others == 0 || !together_pays(parts, blocks[0], seen.nanoseconds)) {
    for_blocks(others, threads, one_by_one, watch);
  } else {
    std::vector<ListedWords> words;
    for (const QueryLists& one : lists) words.push_back(one.words);
    const PanelWords together(words, weights.count);
    const auto body = [&](std::int64_t number, int) {
      const RowBlock& block = blocks[at(number + 1)];
      collect_panel(parts[block.part], block.number, together, queries.front().words.c_max(), queries.front().cosine,
                    limits, waiting[at(number + 1)], watch);
    };
    for_blocks(others, threads, body, watch);
  }
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<NearRow>& all = waiting[0][q];
    for (std::size_t b = 1; b < waiting.size(); ++b) all.insert(all.end(), waiting[b][q].begin(), waiting[b][q].end());
    compare_first(all, compared[q], slack, at(first));
    compare_rising(all, compared[q], slack, watch);
    found[q] = std::move(compared[q]).found();
  }
  found.front().visited = visited;
}

void distances_of(const std::vector<SearchedPart>& parts, const WordWeights& weights, BlendedQuery& query,
                  const std::int64_t* rows, std::int64_t count, float* out, Watch& watch) {
  Pace pace(watch);
  WeighedRows documents(parts, weights);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 10);
    out[i] = documents.distance(query, rows[i]);
  }
}

}  // namespace wordferry
