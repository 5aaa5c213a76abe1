// The k nearest rows by a distance that is bounded from below: rows are compared in rising order of their bounds, until
// the bound passes the k-th distance. Bounds are made for one block of rows at a time, and only rows that can still be
// among the nearest leave it: nothing is held for every document. The answer does not depend on the number of threads.
// `slack` is how far bounds and distances may be off.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/best.hpp"
#include "support/watch.hpp"

namespace wordferry {

struct NearestDocuments {
  std::vector<NearRow> best;   // by (distance, row)
  std::int64_t visited = 0;    // entries of lists
  std::int64_t evaluated = 0;  // documents that were compared in full
};

// Keeps the k nearest of the rows that it compares by value(row).
template <class Value>
class Compared {
 public:
  Compared(std::int64_t k, Value value) : best_(k), value_(std::move(value)) {}

  // What a later row must not exceed.
  float worst() const { return best_.worst(); }

  void put(std::int64_t row) {
    best_.offer(value_(row), row);
    ++evaluated_;
  }

  NearestDocuments found() && { return {std::move(best_).sorted(), 0, evaluated_}; }

 private:
  NearestHits best_;
  Value value_;
  std::int64_t evaluated_ = 0;
};

// Compares the `first` of the waiting rows, and forgets those that can no longer be among the nearest.
template <class Value>
void compare_first(std::vector<NearRow>& waiting, Compared<Value>& compared, float slack, std::size_t first) {
  const auto some = waiting.begin() + static_cast<std::ptrdiff_t>(std::min(first, waiting.size()));
  if (some != waiting.end()) std::nth_element(waiting.begin(), some, waiting.end(), NearestHits::better);
  std::for_each(waiting.begin(), some, [&](const NearRow& one) { compared.put(one.row); });
  waiting.erase(waiting.begin(), some);
  std::erase_if(waiting, [limit = compared.worst() + slack](const NearRow& one) { return !(one.value <= limit); });
}

// Compares the waiting rows in rising order of their bounds, as long as one can be among the nearest.
template <class Value>
void compare_rising(std::vector<NearRow>& waiting, Compared<Value>& compared, float slack, Watch& watch) {
  Pace pace(watch);
  for (RisingRows rising(std::move(waiting)); !rising.empty(); rising.pop()) {
    if (!(rising.first().value <= compared.worst() + slack)) break;
    pace.spend(1 << 10);
    compared.put(rising.first().row);
  }
}

}  // namespace wordferry
