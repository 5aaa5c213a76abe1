#include "lists/nearest.hpp"

#include <atomic>
#include <limits>

#include "lists/block_sums.hpp"

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

// The bounds of one block in the memory of this thread, which is left empty whatever happens.
class ListBounds {
 public:
  ListBounds(const SearchedPart& part, std::int64_t block, const ListedWords& words, float c_max, std::atomic<std::int64_t>& visited,
             Watch& watch)
      : sums_(BlockSums::of_this_thread()), c_max_(c_max) {
    try {
      const std::int64_t seen = sums_.add(part, block, words, c_max, watch);
      sound_ = seen >= 0;
      visited += seen;
    } catch (...) {
      sums_.clear();
      throw;
    }
  }
  ListBounds(const ListBounds&) = delete;
  ListBounds& operator=(const ListBounds&) = delete;
  ~ListBounds() { sums_.clear(); }

  bool sound() const { return sound_; }
  void take_lowest(std::size_t count, std::vector<NearRow>& rows) const { sums_.take_lowest(c_max_, count, rows); }
  void collect(float limit, std::vector<NearRow>& rows) const { sums_.collect(c_max_, limit, rows); }

 private:
  BlockSums& sums_;
  float c_max_;
  bool sound_ = false;
};

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
  const ListedWords words(query);
  std::atomic<std::int64_t> visited{0};
  Compared compared(k, [&](std::int64_t row, float& distance) { return value_of(parts, query, row, distance); });
  const auto bounded = [&](std::int64_t at) -> ListBounds {
    const RowBlock& block = blocks[static_cast<std::size_t>(at)];
    return ListBounds(parts[block.part], block.number, words, query.c_max(), visited, watch);
  };
  if (!nearest_by_bounds(static_cast<std::int64_t>(blocks.size()), bounded, compared, k, slack, threads, watch)) {
    return false;
  }
  found.evaluated = compared.evaluated();
  found.visited = visited;
  found.best = std::move(compared).sorted();
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
