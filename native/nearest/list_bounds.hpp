// The bounds that inverted lists give, as a search takes them.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "nearest/block_sums.hpp"

namespace wordferry {

// What several threads have visited.
class AllVisited {
 public:
  void add(const Visited& some) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sum_.entries += some.entries;
    sum_.nanoseconds += some.nanoseconds;
  }
  const Visited& sum() const { return sum_; }

 private:
  std::mutex mutex_;
  Visited sum_;
};

// The bounds of one block in the memory of this thread, which is left empty whatever happens.
class ListBounds {
 public:
  // add(sums) begins with the block and sums up its lists; it answers whether they were sound.
  template <class Add>
  explicit ListBounds(Add&& add) : sums_(BlockSums::of_this_thread()) {
    try {
      sound_ = add(sums_);
    } catch (...) {
      sums_.clear();
      throw;
    }
  }
  ListBounds(const ListBounds&) = delete;
  ListBounds& operator=(const ListBounds&) = delete;
  ~ListBounds() { sums_.clear(); }

  bool sound() const { return sound_; }
  void take_lowest(std::size_t count, std::vector<NearRow>& rows) const { sums_.take_lowest(count, rows); }
  void collect(float limit, std::vector<NearRow>& rows) const { sums_.collect(limit, rows); }

 private:
  BlockSums& sums_;
  bool sound_ = false;
};

}  // namespace wordferry
