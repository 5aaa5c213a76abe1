#include "lists/nearest.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "lists/block_sums.hpp"

namespace wordferry {

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr std::size_t least_first = 64;  // documents that are compared to learn how near the k-th is

// Compares documents with the query and keeps the k nearest.
class Compared {
 public:
  Compared(const std::vector<SearchedPart>& parts, TouchedQuery& query, std::int64_t k)
      : parts_(parts), query_(query), k_(static_cast<std::size_t>(k)) {}

  // What a later document must not exceed.
  float worst() const { return best_.size() < k_ ? infinite : best_.front().distance; }

  bool put(std::int64_t row) {
    float distance = 0.0f;
    if (!value(row, distance)) return false;
    ++evaluated;
    const NearRow one{distance, row};
    if (best_.size() == k_) {
      if (!nearer(one, best_.front())) return true;
      std::pop_heap(best_.begin(), best_.end(), nearer);
      best_.back() = one;
    } else {
      best_.push_back(one);
    }
    std::push_heap(best_.begin(), best_.end(), nearer);
    return true;
  }

  bool value(std::int64_t row, float& distance) {
    const SearchedPart& part = part_of(row);
    const std::int64_t at = row - part.start;
    const StoredBags& bags = part.bags;
    const std::int64_t begin = bags.indptr[at], end = bags.indptr[at + 1];
    if (begin < 0 || end < begin || end > bags.stored) return false;
    const float total = bags.totals[at];
    if (!(total > 0.0f)) {
      distance = infinite;
      return true;
    }
    for (std::int64_t k = begin; k < end; ++k) {
      if (bags.words[k] < 0 || bags.words[k] >= query_.vocabulary()) return false;
    }
    if (bags.width == 1) distance = compared<std::uint8_t>(bags, begin, end - begin, total);
    if (bags.width == 2) distance = compared<std::uint16_t>(bags, begin, end - begin, total);
    if (bags.width == 4) distance = compared<std::int32_t>(bags, begin, end - begin, total);
    return true;
  }

  std::vector<NearRow> sorted() && {
    std::sort(best_.begin(), best_.end(), nearer);
    return std::move(best_);
  }

  std::int64_t evaluated = 0;

 private:
  const SearchedPart& part_of(std::int64_t row) const {
    const auto after = std::upper_bound(parts_.begin(), parts_.end(), row,
                                        [](std::int64_t one, const SearchedPart& part) { return one < part.start; });
    return *(after - 1);
  }

  template <class Count>
  float compared(const StoredBags& bags, std::int64_t begin, std::int64_t count, float total) {
    const Count* const counts = static_cast<const Count*>(bags.counts) + begin;
    const double sum = static_cast<double>(total);
    return query_.value(bags.words + begin, count, Side::both, [counts, sum](std::int64_t k) {
      return static_cast<float>(static_cast<double>(counts[k]) / sum);
    });
  }

  const std::vector<SearchedPart>& parts_;
  TouchedQuery& query_;
  std::size_t k_;
  std::vector<NearRow> best_;
};

struct Block {
  std::size_t part;
  std::int64_t number;
};

// All blocks, the largest first: what it has nearest says what the others need not keep.
std::vector<Block> blocks_of(const std::vector<SearchedPart>& parts) {
  std::vector<Block> blocks;
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

bool further(const NearRow& a, const NearRow& b) { return nearer(b, a); }

// Compares those of `waiting` that can still be among the nearest, in rising order of their bounds.
bool compare(std::vector<NearRow>& waiting, Compared& compared, float slack, Watch& watch) {
  std::make_heap(waiting.begin(), waiting.end(), further);
  Pace pace(watch);
  while (!waiting.empty() && waiting.front().distance <= compared.worst() + slack) {
    pace.spend(1 << 10);
    if (!compared.put(waiting.front().row)) return false;
    std::pop_heap(waiting.begin(), waiting.end(), further);
    waiting.pop_back();
  }
  return true;
}

bool compare_all(const std::vector<NearRow>& rows, Compared& compared) {
  return std::all_of(rows.begin(), rows.end(), [&](const NearRow& one) { return compared.put(one.row); });
}

// The sums of this thread, left empty whatever happens.
class Cleared {
 public:
  explicit Cleared(BlockSums& sums) : sums_(sums) {}
  Cleared(const Cleared&) = delete;
  Cleared& operator=(const Cleared&) = delete;
  ~Cleared() { sums_.clear(); }
  BlockSums& operator*() const { return sums_; }
  BlockSums* operator->() const { return &sums_; }

 private:
  BlockSums& sums_;
};

// Compares the `first` with the lowest bounds, and forgets what can no longer be among the nearest.
bool compare_first(std::vector<NearRow>& waiting, Compared& compared, float slack, std::size_t first) {
  if (waiting.size() > first) {
    std::nth_element(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(first), waiting.end(), nearer);
  }
  const std::size_t some = std::min(first, waiting.size());
  for (std::size_t i = 0; i < some; ++i) {
    if (!compared.put(waiting[i].row)) return false;
  }
  const float limit = compared.worst() + slack;
  std::size_t kept = 0;
  for (std::size_t i = some; i < waiting.size(); ++i) {
    if (waiting[i].distance <= limit) waiting[kept++] = waiting[i];
  }
  waiting.resize(kept);
  return true;
}

}  // namespace

bool nearest_by_lists(const std::vector<SearchedPart>& parts, TouchedQuery& query, float slack, std::int64_t k,
                      int threads, NearestRows& found, Watch& watch) {
  const std::vector<Block> blocks = blocks_of(parts);
  if (blocks.empty() || k <= 0) return true;
  const ListedWords words(query);
  Compared compared(parts, query, k);
  const std::size_t first = std::max(static_cast<std::size_t>(k), least_first);
  std::atomic<bool> sound{true};
  std::atomic<std::int64_t> visited{0};
  std::vector<std::vector<NearRow>> waiting(blocks.size());
  float limit = infinite;
  const auto sum_up = [&](std::int64_t at, BlockSums& sums) {
    const Block& block = blocks[static_cast<std::size_t>(at)];
    const std::int64_t seen = sums.add(parts[block.part], block.number, words, query.c_max(), watch);
    if (seen < 0) sound = false;
    visited += seen;
  };
  {
    const Cleared sums(BlockSums::of_this_thread());
    sum_up(0, *sums);
    std::vector<NearRow> lowest;
    sums->take_lowest(query.c_max(), first, lowest);
    if (!sound || !compare_all(lowest, compared)) return false;
    limit = compared.worst() + slack;
    sums->collect(query.c_max(), limit, waiting[0]);
  }
  const auto body = [&](std::int64_t at, int) {
    const Cleared sums(BlockSums::of_this_thread());
    sum_up(at + 1, *sums);
    if (sound) sums->collect(query.c_max(), limit, waiting[static_cast<std::size_t>(at + 1)]);
  };
  for_blocks(static_cast<std::int64_t>(blocks.size()) - 1, threads, body, watch);
  if (!sound) return false;
  std::vector<NearRow>& all = waiting[0];
  for (std::size_t b = 1; b < waiting.size(); ++b) all.insert(all.end(), waiting[b].begin(), waiting[b].end());
  if (!compare_first(all, compared, slack, first) || !compare(all, compared, slack, watch)) return false;
  found.evaluated = compared.evaluated;
  found.visited = visited;
  found.best = std::move(compared).sorted();
  return true;
}

bool distances_of(const std::vector<SearchedPart>& parts, TouchedQuery& query, const std::int64_t* rows,
                  std::int64_t count, float* out, Watch& watch) {
  Compared compared(parts, query, 1);
  Pace pace(watch);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 10);
    if (!compared.value(rows[i], out[i])) return false;
  }
  return true;
}

}  // namespace wordferry
