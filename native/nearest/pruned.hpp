// The k nearest rows by a distance that is bounded from below: rows are compared in rising order of their bounds, until
// the bound passes the k-th distance. Bounds are made for one block of rows at a time, and only rows that can still be
// among the nearest leave it: nothing is held for every document. The answer does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "support/pool.hpp"

namespace wordferry {

struct NearRow {
  float distance;
  std::int64_t row;
};

inline bool nearer(const NearRow& a, const NearRow& b) {
  return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
}

struct NearestDocuments {
  std::vector<NearRow> best;   // by (distance, row)
  std::int64_t visited = 0;    // entries of lists
  std::int64_t evaluated = 0;  // documents that were compared in full
};

// Keeps the k nearest of the rows that it compares; value(row, distance) is false when arrays lead outside.
template <class Value>
class Compared {
 public:
  Compared(std::int64_t k, Value value) : k_(static_cast<std::size_t>(k)), value_(std::move(value)) {}

  // What a later row must not exceed.
  float worst() const { return best_.size() < k_ ? std::numeric_limits<float>::infinity() : best_.front().distance; }

  bool put(std::int64_t row) {
    NearRow one{0.0f, row};
    if (!value_(row, one.distance)) return false;
    ++evaluated_;
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

  bool put_all(const std::vector<NearRow>& rows) {
    return std::all_of(rows.begin(), rows.end(), [this](const NearRow& one) { return put(one.row); });
  }

  std::int64_t evaluated() const { return evaluated_; }

  std::vector<NearRow> sorted() && {
    std::sort(best_.begin(), best_.end(), nearer);
    return std::move(best_);
  }

 private:
  std::size_t k_;
  Value value_;
  std::vector<NearRow> best_;
  std::int64_t evaluated_ = 0;
};

// Compares the `first` of the waiting rows, and forgets those that can no longer be among the nearest.
template <class Value>
bool compare_first(std::vector<NearRow>& waiting, Compared<Value>& compared, float slack, std::size_t first) {
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

// Compares the waiting rows in rising order of their bounds, as long as one can be among the nearest.
template <class Value>
bool compare_rising(std::vector<NearRow>& waiting, Compared<Value>& compared, float slack, Watch& watch) {
  const auto further = [](const NearRow& a, const NearRow& b) { return nearer(b, a); };
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

constexpr std::size_t least_first = 32;  // rows that are compared to learn how near the k-th is

// Looks at one block of a search: what it has nearest is compared, and what can still win goes to `waiting`. `bounds`
// is as below. False when arrays lead outside.
template <class Value, class Bounds>
bool look_first(const Bounds& bounds, Compared<Value>& compared, std::size_t first, float slack,
                std::vector<NearRow>& waiting) {
  std::vector<NearRow> lowest;
  if (!bounds.sound()) return false;
  bounds.take_lowest(first, lowest);
  if (!compared.put_all(lowest)) return false;
  bounds.collect(compared.worst() + slack, waiting);
  return true;
}

// The whole search. bounded(block) makes the bounds of a block and answers something with
//   sound(): whether no array led outside;
//   take_lowest(count, rows): at most `count` rows with the lowest bounds, which come with no later call;
//   collect(limit, rows): appends the other rows whose bound does not exceed the limit.
// Block 0 is looked at first: what it has nearest says what the others need not keep. `slack` is how far bounds and
// distances may be off. False when arrays lead outside of themselves, which only damaged ones do.
template <class Value, class Bounded>
bool nearest_by_bounds(std::int64_t blocks, const Bounded& bounded, Compared<Value>& compared, std::int64_t k,
                       float slack, int threads, Watch& watch) {
  const std::size_t first = std::max(static_cast<std::size_t>(k), least_first);
  std::vector<std::vector<NearRow>> waiting(static_cast<std::size_t>(blocks));
  if (!look_first(bounded(0), compared, first, slack, waiting[0])) return false;
  const float limit = compared.worst() + slack;
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t at, int) {
    const auto bounds = bounded(at + 1);
    if (bounds.sound()) {
      bounds.collect(limit, waiting[static_cast<std::size_t>(at + 1)]);
    } else {
      sound = false;
    }
  };
  for_blocks(blocks - 1, threads, body, watch);
  if (!sound) return false;
  std::vector<NearRow>& all = waiting[0];
  for (std::size_t b = 1; b < waiting.size(); ++b) all.insert(all.end(), waiting[b].begin(), waiting[b].end());
  return compare_first(all, compared, slack, first) && compare_rising(all, compared, slack, watch);
}

}  // namespace wordferry
