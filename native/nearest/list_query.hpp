// A query against stored documents as Python hands it over.
#pragma once

#include <utility>

#include "nearest/nearest.hpp"
#include "support/bind.hpp"

namespace wordferry {

constexpr float largest_cost = 1e30f;

// A query by the numbers of its words; those that no document has come behind all others.
class ListQuery {
 public:
  ListQuery(In<std::int32_t> words, In<float> masses, In<std::int32_t> positions, In<std::int32_t> related,
            In<float> costs, float c_max, Overlap overlap, std::int64_t vocabulary)
      : words_(std::move(words)), masses_(std::move(masses)), positions_(std::move(positions)),
        related_(std::move(related)), costs_(std::move(costs)), c_max_(c_max), overlap_(overlap),
        vocabulary_(vocabulary) {
    require(vocabulary >= 0 && vocabulary <= INT32_MAX, "the vocabulary must fit in an int32");
    require(words_.length() == masses_.length(), "one mass for each word");
    require(positions_.length() == related_.length() && costs_.length() == related_.length(),
            "one cost for each relation");
    require(overlap != Overlap::residual, "lists cannot serve residual");
    require(c_max >= 0.0f && c_max <= largest_cost, "c_max must be a cost");
    require_range(words_.data(), words_.length(), 0, vocabulary, "words must lie in the vocabulary");
    require_range(related_.data(), related_.length(), 0, vocabulary, "related words must lie in the vocabulary");
    require_range(positions_.data(), positions_.length(), 0, words_.length(), "positions must lie in the query");
    bool fits = true;
    for (std::int64_t i = 0; i < costs_.length(); ++i) fits &= costs_.data()[i] >= 0.0f && costs_.data()[i] <= c_max;
    for (std::int64_t i = 0; i < masses_.length(); ++i) fits &= masses_.data()[i] >= 0.0f && masses_.data()[i] <= 1.0f;
    require(fits, "costs must lie in 0 .. c_max and masses in 0 .. 1");
  }

  float c_max() const { return c_max_; }
  std::int64_t vocabulary() const { return vocabulary_; }
  std::int64_t words() const { return words_.length(); }

  TouchedQuery made() const {
    TouchedQuery query(vocabulary_, c_max_, overlap_);
    for (std::int64_t i = 0; i < words_.length(); ++i) query.add(words_.data()[i], masses_.data()[i]);
    for (std::int64_t i = 0; i < related_.length(); ++i) {
      query.relate(positions_.data()[i], related_.data()[i], costs_.data()[i]);
    }
    query.finish();
    return query;
  }

 private:
  In<std::int32_t> words_;
  In<float> masses_;
  In<std::int32_t> positions_, related_;
  In<float> costs_;
  float c_max_;
  Overlap overlap_;
  std::int64_t vocabulary_;
};

}  // namespace wordferry
