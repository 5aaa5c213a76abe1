// Word centroid distances to stored documents, exact, through codes of their centroids: a code bounds the distance from
// below, and the documents that it cannot rule out are compared by their own words and vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nearest/pruned.hpp"
#include "stored/stored.hpp"
#include "support/at.hpp"
#include "support/compiler.hpp"

namespace wordferry {

// The vectors, what words weigh, and which vector a word has.
struct WordVectors {
  const float* data;  // [vectors][dimensions]
  std::int64_t vectors, dimensions;
  WordWeights weights;
  const std::int32_t* rows;  // by the number of a word: its vector, or -1
  // Words without a vector have a dimension each, and the square of its length is this; 0 where they do not count.
  double apart;
};

// The mass of a word that has no vector.
struct MassApart {
  std::int32_t word;
  float mass;
};

// What a query is compared by.
struct CentroidTarget {
  std::vector<double> centroid;
  std::vector<MassApart> apart;  // words without a vector, rising
  double new_squares = 0.0;      // of the masses of such words that no document has
};

// to += a vector times a mass, in the type of the sum.
template <class Sum>
void add_vector(const float* vector, std::int64_t dimensions, float mass, Sum* to) {
  for (std::int64_t d = 0; d < dimensions; ++d) to[d] += static_cast<Sum>(mass) * static_cast<Sum>(vector[d]);
}

// The centroid of one row, made again and again in the same memory: in double where distances are made of it, in float
// where it is coded.
template <class Sum>
class Centroid {
 public:
  explicit Centroid(const WordVectors& vectors) : vectors_(vectors), sum_(at(vectors.dimensions)) {}

  void read(const SearchedPart& part, std::int64_t row) {
    terms_.clear();
    apart_.clear();
    const double total = part.exact[row];
    empty_ = !(total > 0.0);
    part.bags.read(row, vectors_.weights.count, [&](const auto* words, const auto* counts, std::int64_t size) {
      for (std::int64_t k = 0; k < size && !empty_; ++k) {
        const double weight = vectors_.weights.values[words[k]];
        if (weight == 0.0) continue;
        const double times = part.repeats.times(static_cast<std::int64_t>(counts[k]), row);
        const auto mass = static_cast<float>(times * weight / total);
        const std::int64_t vector = vectors_.rows[words[k]];
        require_inside(vector < vectors_.vectors);
        if (vector < 0) {
          apart_.push_back({static_cast<std::int32_t>(words[k]), mass});
        } else {
          terms_.push_back({vectors_.data + vector * vectors_.dimensions, mass});
        }
      }
    });
    std::fill(sum_.begin(), sum_.end(), Sum{0});
    const std::size_t whole = terms_.size() / together * together;
    for (std::size_t k = 0; k < whole; k += together) {
      for (std::size_t next = k + 2 * together; next < std::min(k + 3 * together, terms_.size()); ++next) fetch(next);
      add_together(terms_.data() + k);
    }
    for (std::size_t k = whole; k < terms_.size(); ++k) {
      add_vector(terms_[k].vector, vectors_.dimensions, terms_[k].mass, sum_.data());
    }
  }

  // Asks for what read() looks up of a word, whatever number it has.
  void fetch_word(std::int64_t word) const {
    if (word < 0 || word >= vectors_.weights.count) return;
    prefetch_line(vectors_.rows + word);
    prefetch_line(vectors_.weights.values + word);
  }

  bool empty() const { return empty_; }
  const std::vector<Sum>& sum() const { return sum_; }
  std::size_t words() const { return terms_.size(); }  // different ones with a vector

  // The squared length of what words without a vector add, that of a word being 1.
  double apart_squares() const {
    double squares = 0.0;
    for (const MassApart& one : apart_) squares += static_cast<double>(one.mass) * static_cast<double>(one.mass);
    return squares;
  }

  // The same of the difference to a query.
  double apart_squares(const CentroidTarget& query) {
    double squares = query.new_squares;
    shared_.assign(query.apart.size(), false);
    for (const MassApart& one : apart_) {
      double off = static_cast<double>(one.mass);
      const auto same = std::lower_bound(query.apart.begin(), query.apart.end(), one.word,
                                         [](const MassApart& a, std::int32_t word) { return a.word < word; });
      if (same != query.apart.end() && same->word == one.word) {
        off -= static_cast<double>(same->mass);
        shared_[at(same - query.apart.begin())] = true;
      }
      squares += off * off;
    }
    for (std::size_t i = 0; i < query.apart.size(); ++i) {
      const auto mass = static_cast<double>(query.apart[i].mass);
      if (!shared_[i]) squares += mass * mass;
    }
    return squares;
  }

 private:
  struct Term {
    const float* vector;
    float mass;
  };

  // Asks for a vector that will be added soon: most of them have to come from far.
  void fetch(std::size_t term) const {
    constexpr std::int64_t line = 16;
    for (std::int64_t d = 0; d < vectors_.dimensions; d += line) prefetch_line(terms_[term].vector + d);
  }

  // Adds some vectors, one after the other: the sum is read and written once for all of them.
  void add_together(const Term* terms) {
    Sum* const WF_RESTRICT sum = sum_.data();
    for (std::int64_t d = 0; d < vectors_.dimensions; ++d) {
      Sum to = sum[d];
      for (std::size_t k = 0; k < together; ++k)
        to += static_cast<Sum>(terms[k].mass) * static_cast<Sum>(terms[k].vector[d]);
      sum[d] = to;
    }
  }

  static constexpr std::size_t together = 4;  // vectors

  const WordVectors& vectors_;
  std::vector<Sum> sum_;
  std::vector<Term> terms_;
  std::vector<MassApart> apart_;
  std::vector<bool> shared_;
  bool empty_ = true;
};

}  // namespace wordferry
