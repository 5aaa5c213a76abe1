// The best k of candidates: by value, then by the smaller row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "support/at.hpp"

namespace wordferry {

// A heap with the worst on top. `Before` says which of two values is better: std::less for distances, std::greater for
// scores. NaN never enters.
template <class Value, class Before = std::less<Value>>
class BestK {
 public:
  struct Item {
    Value value;
    std::int64_t row;
  };

  explicit BestK(std::int64_t k) : k_(at(k)) {}

  static bool better(const Item& a, const Item& b) {
    return Before{}(a.value, b.value) || (a.value == b.value && a.row < b.row);
  }

  bool full() const { return kept_.size() == k_; }

  // The worst value that is kept; while there is room, the worst there is.
  Value worst() const {
    constexpr Value infinity = std::numeric_limits<Value>::infinity();
    return full() ? kept_.front().value : Before{}(0, 1) ? infinity : -infinity;
  }

  void offer(Value value, std::int64_t row) {
    const Item item{value, row};
    if (!full()) {
      if (value != value) return;
      kept_.push_back(item);
      std::push_heap(kept_.begin(), kept_.end(), better);
    } else if (better(item, kept_.front())) {
      replace_worst(item);
    }
  }

  // Offers values[i] as row `first` + i, where `allowed` (null: everywhere) is not 0.
  void offer_all(const Value* values, std::int64_t count, std::int64_t first, const bool* allowed) {
    Value limit = worst();
    for (std::int64_t i = 0; i < count; ++i) {
      if (Before{}(limit, values[i]) || (allowed != nullptr && !allowed[i])) continue;
      offer(values[i], first + i);
      limit = worst();
    }
  }

  // Best first; nothing can be offered after that.
  std::vector<Item> sorted() && {
    std::sort(kept_.begin(), kept_.end(), better);
    return std::move(kept_);
  }

 private:
  void replace_worst(const Item& item) {
    std::size_t at = 0;
    while (2 * at + 1 < k_) {
      std::size_t child = 2 * at + 1;
      if (child + 1 < k_ && better(kept_[child], kept_[child + 1])) ++child;
      if (better(kept_[child], item)) break;
      kept_[at] = kept_[child];
      at = child;
    }
    kept_[at] = item;
  }

  std::size_t k_;
  std::vector<Item> kept_;
};

using NearestHits = BestK<float>;
using NearRow = NearestHits::Item;

// Rows in rising order of (value, row), as far as they are asked for.
class RisingRows {
 public:
  explicit RisingRows(std::vector<NearRow> rows) : waiting_(std::move(rows)) {
    std::make_heap(waiting_.begin(), waiting_.end(), later);
  }
  bool empty() const { return waiting_.empty(); }
  const NearRow& first() const { return waiting_.front(); }
  void pop() {
    std::pop_heap(waiting_.begin(), waiting_.end(), later);
    waiting_.pop_back();
  }

 private:
  static bool later(const NearRow& a, const NearRow& b) { return NearestHits::better(b, a); }
  std::vector<NearRow> waiting_;
};

}  // namespace wordferry
