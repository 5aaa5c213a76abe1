// The centroid of a stored document, by what its words weigh.
#pragma once

#include <algorithm>
#include <vector>

#include "centroids/centroids.hpp"
#include "support/at.hpp"
#include "support/compiler.hpp"

namespace wordferry {

// The centroid of one row, made again and again in the same memory.
class Centroid {
 public:
  explicit Centroid(const WordVectors& vectors) : vectors_(vectors), sum_(at(vectors.dimensions)) {}

  // False when the row leads outside.
  bool read(const SearchedPart& part, std::int64_t row) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    apart_.clear();
    const double total = part.exact[row];
    empty_ = !(total > 0.0);
    bool sound = true;
    return part.bags.read(row, vectors_.weights.count, [&](const auto* words, const auto* counts, std::int64_t size) {
      for (std::int64_t k = 0; k < size && !empty_; ++k) {
        if (k + ahead < size) fetch(vectors_.rows[words[k + ahead]]);
        const double weight = vectors_.weights.values[words[k]];
        if (weight == 0.0) continue;
        const double times = part.repeats.times(static_cast<std::int64_t>(counts[k]), row);
        const auto mass = static_cast<float>(times * weight / total);
        const std::int64_t vector = vectors_.rows[words[k]];
        if (vector < 0) {
          apart_.push_back({static_cast<std::int32_t>(words[k]), mass});
        } else {
          sound &= vector < vectors_.vectors;
          if (sound) add_vector(vectors_.data + vector * vectors_.dimensions, vectors_.dimensions, mass, sum_.data());
        }
      }
    }) && sound;
  }

  bool empty() const { return empty_; }
  const std::vector<double>& sum() const { return sum_; }

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
        shared_[static_cast<std::size_t>(same - query.apart.begin())] = true;
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
  // Asks for a vector that will be added soon: most of them have to come from far.
  void fetch(std::int64_t row) const {
    constexpr std::int64_t line = 16;
    if (row < 0) return;
    const float* const vector = vectors_.data + row * vectors_.dimensions;
    for (std::int64_t d = 0; d < vectors_.dimensions; d += line) prefetch_line(vector + d);
  }

  static constexpr std::int64_t ahead = 3;  // words

  const WordVectors& vectors_;
  std::vector<double> sum_;
  std::vector<MassApart> apart_;
  std::vector<bool> shared_;
  bool empty_ = true;
};

}  // namespace wordferry
