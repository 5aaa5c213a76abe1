// One query of Rel-RWMD: the words that it has or is related to, ready for documents to be compared with it. Every
// other word of a document costs c_max.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "support/at.hpp"

namespace wordferry {

// A larger cost than any: for a word that must not move to itself. Finite, so that 0 * far_away is 0.
constexpr float far_away = 1e30f;

enum class Overlap : int { omr = 0, keep = 1, residual = 2 };
enum class Side : int { both = 0, left = 1, right = 2 };

// The sum of cost(0), cost(1), ... in the order of `panel_sums`, so that all ways of Rel-RWMD come to the same bits.
template <class Cost>
float moved_two_by_two(std::int64_t count, Cost&& cost) {
  float even = 0.0f, odd = 0.0f;
  std::int64_t k = 0;
  for (; k + 1 < count; k += 2) {
    even += cost(k);
    odd += cost(k + 1);
  }
  if (k < count) even += cost(k);
  return even + odd;
}

// A word that the query has or is related to.
struct TouchedWord {
  float near = 0.0f;                // the cost of the nearest word of the query that it may move to
  float mass = 0.0f;                // what the query has of this very word and may stay
  std::int32_t own = -1;            // its position in the query, or -1
  std::int64_t begin = 0, end = 0;  // the query's words related to it, in `links`
};

class TouchedQuery {
 public:
  TouchedQuery(std::int64_t vocabulary, float c_max, Overlap overlap)
      : c_max_(c_max), overlap_(overlap), vocabulary_(vocabulary),
        slots_(static_cast<std::uint32_t*>(std::calloc(at(vocabulary) + 1, sizeof(std::uint32_t)))) {
    if (slots_ == nullptr) throw std::bad_alloc();
    clear();
  }

  float c_max() const { return c_max_; }
  std::int64_t vocabulary() const { return vocabulary_; }
  const std::vector<std::int32_t>& words() const { return words_; }  // in the order in which they were touched
  const TouchedWord& touched(std::int32_t word) const { return touched_[slots_[at(word)]]; }

  // Ready for another query.
  void clear() {
    for (const std::int32_t word : words_) slots_[at(word)] = 0;
    words_.clear();
    touched_.assign(1, {});
    found_.clear();
    masses_.clear();
  }

  // The next word of the query.
  void add(std::int32_t word, float mass) {
    TouchedWord& own = touch(word);
    own.own = static_cast<std::int32_t>(masses_.size());
    own.mass = overlap_ == Overlap::keep ? 0.0f : mass;
    if (overlap_ == Overlap::keep) own.near = 0.0f;
    masses_.push_back(mass);
  }

  // A word that is related to the one at a position of the query.
  void relate(std::int32_t position, std::int32_t word, float cost) {
    TouchedWord& other = touch(word);
    other.near = std::min(other.near, cost);
    ++other.end;  // how many there are, for now
    found_.push_back({word, {position, cost}});
  }

  // After the last word: the links of each word together, in the order they were found in.
  void finish() {
    std::int64_t next = 0;
    for (TouchedWord& word : touched_) {
      const std::int64_t count = word.end;
      word.begin = word.end = next;
      next += count;
    }
    links_.resize(at(next));
    for (const Found& one : found_) {
      links_[at(touched_[slots_[at(one.word)]].end++)] = one.link;
    }
    best_.resize(masses_.size());
    excess_.resize(masses_.size());
  }

  // The distance to a document of `count` words; mass(k) is that of the k-th.
  template <class Word, class Mass>
  float value(const Word* words, std::int64_t count, Side side, Mass&& mass_of) {
    std::fill(best_.begin(), best_.end(), c_max_);
    std::copy(masses_.begin(), masses_.end(), excess_.begin());
    if (moving_.size() < at(count)) {
      moving_.resize(at(count));
      near_.resize(at(count));
    }
    for (std::int64_t k = 0; k < count; ++k) {
      const std::uint32_t slot = slots_[at(words[k])];
      const float mass = mass_of(k);
      moving_[at(k)] = mass;
      near_[at(k)] = c_max_;
      if (slot == 0) continue;
      const TouchedWord& word = touched_[slot];
      moving_[at(k)] = std::max(mass - word.mass, 0.0f);
      if (word.own >= 0) own_word(at(word.own), mass);
      if (overlap_ == Overlap::residual) continue;
      near_[at(k)] = word.near;
      for (std::int64_t l = word.begin; l < word.end; ++l) lower(best_[at(links_[at(l)].position)], links_[at(l)].cost);
    }
    if (overlap_ == Overlap::residual && !meet_rest(words, count)) return 0.0f;
    const auto moved = [](std::int64_t size, const std::vector<float>& masses, const std::vector<float>& costs) {
      return moved_two_by_two(size, [&](std::int64_t k) { return masses[at(k)] * costs[at(k)]; });
    };
    const float left = side == Side::right ? 0.0f : moved(std::ssize(excess_), excess_, best_);
    const float right = side == Side::left ? 0.0f : moved(count, moving_, near_);
    return side == Side::left ? left : side == Side::right ? right : std::max(left, right);
  }

 private:
  struct Link {
    std::int32_t position;
    float cost;
  };
  struct Found {
    std::int32_t word;
    Link link;
  };

  struct Free {
    void operator()(std::uint32_t* memory) const { std::free(memory); }
  };

  static void lower(float& value, float other) { value = std::min(value, other); }

  // What is left of both documents moves to words of which something is left; false when that is nothing.
  template <class Word>
  bool meet_rest(const Word* words, std::int64_t count) {
    const auto positive = [](float mass) { return mass > 0.0f; };
    if (std::none_of(excess_.begin(), excess_.end(), positive)) return false;
    if (std::none_of(moving_.begin(), moving_.begin() + count, positive)) return false;
    for (std::int64_t k = 0; k < count; ++k) {
      const TouchedWord& word = touched(static_cast<std::int32_t>(words[k]));
      for (std::int64_t l = word.begin; l < word.end; ++l) {
        const Link& link = links_[at(l)];
        if (moving_[at(k)] > 0.0f) lower(best_[at(link.position)], link.cost);
        if (excess_[at(link.position)] > 0.0f) lower(near_[at(k)], link.cost);
      }
    }
    return true;
  }

  TouchedWord& touch(std::int32_t word) {
    std::uint32_t& slot = slots_[at(word)];
    if (slot == 0) {
      slot = static_cast<std::uint32_t>(touched_.size());
      touched_.push_back({c_max_, 0.0f, -1});
      words_.push_back(word);
    }
    return touched_[slot];
  }

  void own_word(std::size_t i, float mass) {
    if (overlap_ == Overlap::keep) {
      best_[i] = 0.0f;
    } else {
      excess_[i] = std::max(excess_[i] - mass, 0.0f);
    }
  }

  float c_max_;
  Overlap overlap_;
  std::int64_t vocabulary_;
  // The place of each word in touched_, 0 for the others; pages of it that are never written take no memory.
  std::unique_ptr<std::uint32_t[], Free> slots_;
  std::vector<std::int32_t> words_;  // those with a slot
  std::vector<TouchedWord> touched_;
  std::vector<Found> found_;
  std::vector<Link> links_;
  std::vector<float> masses_, best_, excess_;
  std::vector<float> moving_, near_;  // of the document at hand: what must move of each word, and what that costs
};

}  // namespace wordferry
