#include "lists/weighed.hpp"

#include <algorithm>
#include <limits>

#include "lists/list_bounds.hpp"

namespace wordferry {

namespace {

// One document with its words of both kinds, one after the other.
class WeighedRow {
 public:
  WeighedRow(const std::vector<WeighedPart>& parts, const WordWeights& weights) : parts_(parts), weights_(weights) {}

  // False when arrays lead outside.
  bool distance(TouchedQuery& query, std::int64_t row, float& distance) {
    const auto after = std::upper_bound(parts_.begin(), parts_.end(), row, [](std::int64_t one, const WeighedPart& part) {
      return one < part.known.start;
    });
    const WeighedPart& part = *(after - 1);
    row -= part.known.start;
    words_.clear();
    values_.clear();
    if (!read(part, part.known.bags, row, weights_.known, weights_.known_count, 0) ||
        !read(part, part.others.bags, row, weights_.others, weights_.other_count, weights_.known_count)) {
      return false;
    }
    distance = std::numeric_limits<float>::infinity();
    double total = 0.0;  // summed as everywhere else, one word after the other
    for (const double value : values_) total += value;
    if (!(total > 0.0)) return true;
    const auto size = static_cast<std::int64_t>(words_.size());
    distance = query.value(words_.data(), size, Side::both, [this, total](std::int64_t k) {
      return static_cast<float>(values_[static_cast<std::size_t>(k)] / total);
    });
    return true;
  }

 private:
  bool read(const WeighedPart& part, const StoredBags& bags, std::int64_t row, const double* weights,
            std::int64_t count, std::int64_t first) {
    return bags.rows == 0 || bags.read(row, count, [&](const auto* words, const auto* counts, std::int64_t size) {
      for (std::int64_t k = 0; k < size; ++k) {
        const auto word = static_cast<std::int64_t>(words[k]);
        words_.push_back(static_cast<std::int32_t>(first + word));
        values_.push_back(part.repeats.times(static_cast<std::int64_t>(counts[k]), row) * weights[word]);
      }
    });
  }

  const std::vector<WeighedPart>& parts_;
  const WordWeights& weights_;
  std::vector<std::int32_t> words_;
  std::vector<double> values_;  // what each of them counts times what it weighs
};

// What the heaviest of some words weighs; nothing of them may stay yet.
float heaviest_of(const ListedWords& words, float c_max) {
  float most = 0.0f;
  for (const ListedWord& one : words.words()) most = std::max(most, (one.near + one.gain) / c_max);
  return most;
}

}  // namespace

bool nearest_weighed(const std::vector<WeighedPart>& parts, const WordWeights& weights, TouchedQuery& query, float slack,
                     std::int64_t k, int threads, NearestRows& found, Watch& watch) {
  std::vector<SearchedPart> known;
  double rows = 1.0, total = 1.0;
  for (const WeighedPart& part : parts) {
    known.push_back(part.known);
    rows += static_cast<double>(part.known.bags.rows);
    total += static_cast<double>(part.known.bags.rows) * static_cast<double>(part.known.bags.mean_total);
  }
  const std::vector<RowBlock> blocks = blocks_of(known);
  if (blocks.empty() || k <= 0) return true;
  ListedWords words(query, 0, weights.known_count, weights.known);
  ListedWords others(query, weights.known_count, weights.other_count, weights.others);
  const float c_max = query.c_max();
  const float heaviest = c_max > 0.0f ? std::max(heaviest_of(words, c_max), heaviest_of(others, c_max)) : 1.0f;
  for (ListedWords* some : {&words, &others}) some->let_stay(static_cast<float>(rows / total));
  AllVisited visited;
  WeighedRow row_of(parts, weights);
  Compared compared(k, [&](std::int64_t row, float& distance) { return row_of.distance(query, row, distance); });
  const auto bounded = [&](std::int64_t at) -> ListBounds {
    const RowBlock& block = blocks[static_cast<std::size_t>(at)];
    const WeighedPart& part = parts[block.part];
    return ListBounds([&](BlockSums& sums) {
      Visited seen;
      sums.begin(part.known, block.number, c_max, part.words, heaviest > 0.0f ? heaviest : 1.0f, part.repeats);
      bool sound = sums.add(part.known.lists, block.number, words, seen, watch);
      if (sound && part.others.bags.rows > 0) sound = sums.add(part.others.lists, block.number, others, seen, watch);
      visited.add(seen);
      return sound;
    });
  };
  return search_by_lists(blocks.size(), bounded, compared, slack, k, threads, visited, found, watch);
}

bool weighed_distances_of(const std::vector<WeighedPart>& parts, const WordWeights& weights, TouchedQuery& query,
                          const std::int64_t* rows, std::int64_t count, float* out, Watch& watch) {
  Pace pace(watch);
  WeighedRow row_of(parts, weights);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 10);
    if (!row_of.distance(query, rows[i], out[i])) return false;
  }
  return true;
}

}  // namespace wordferry
