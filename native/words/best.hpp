// The best k of rows that come in rising order.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "words/word_search.hpp"

namespace wordferry {

inline bool better(const Scored& a, const Scored& b) { return a.score != b.score ? a.score > b.score : a.row < b.row; }

// Keeps the best k of what it is offered in the order of rising rows.
class Best {
 public:
  explicit Best(std::int64_t k) : k_(static_cast<std::size_t>(k)) {}

  // What a later row must exceed: one of equal score comes after all that are here.
  double least() const { return kept_.size() < k_ ? 0.0 : kept_.front().score; }

  bool full() const { return kept_.size() == k_; }

  // Takes a row that comes in any order, if its score is above 0 and among the best.
  void offer_any(double score, std::int64_t row) {
    if (score > 0.0 && (!full() || better({score, row}, kept_.front()))) offer(score, row);
  }

  void offer(double score, std::int64_t row) {
    if (kept_.size() == k_) {
      std::pop_heap(kept_.begin(), kept_.end(), better);
      kept_.back() = {score, row};
    } else {
      kept_.push_back({score, row});
    }
    std::push_heap(kept_.begin(), kept_.end(), better);
  }

  std::vector<Scored> sorted() && {
    std::sort(kept_.begin(), kept_.end(), better);
    return std::move(kept_);
  }

 private:
  std::size_t k_;
  std::vector<Scored> kept_;
};

}  // namespace wordferry
