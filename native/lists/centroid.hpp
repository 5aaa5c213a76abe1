// The centroid of a stored document, by plain counts or by what its words weigh.
#pragma once

#include <algorithm>
#include <vector>

#include "lists/centroids.hpp"
#include "support/at.hpp"
#include "support/compiler.hpp"

namespace wordferry {

// The centroid of one row, made again and again in the same memory.
class Centroid {
 public:
  explicit Centroid(const Vectors& vectors) : vectors_(vectors), sum_(at(vectors.dimensions)) {}

  // False when the row leads outside.
  bool read(const CentroidPart& part, std::int64_t row) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    others_.clear();
    return part.weighed ? read_weighed(part, row) : read_counts(part.documents.known.bags, row);
  }

  bool empty() const { return empty_; }
  const std::vector<double>& sum() const { return sum_; }

  // The squared length of what words without a vector add, that of a word being 1.
  double other_squares() const {
    double squares = 0.0;
    for (const OtherMass& one : others_) squares += static_cast<double>(one.mass) * static_cast<double>(one.mass);
    return squares;
  }

  // The same of the difference to a query.
  double other_squares(const CentroidTarget& query) {
    double squares = query.new_squares;
    shared_.assign(query.others.size(), false);
    for (const OtherMass& one : others_) {
      double off = static_cast<double>(one.mass);
      const auto same = std::lower_bound(query.others.begin(), query.others.end(), one.word,
                                         [](const OtherMass& a, std::int32_t word) { return a.word < word; });
      if (same != query.others.end() && same->word == one.word) {
        off -= static_cast<double>(same->mass);
        shared_[static_cast<std::size_t>(same - query.others.begin())] = true;
      }
      squares += off * off;
    }
    for (std::size_t i = 0; i < query.others.size(); ++i) {
      const auto mass = static_cast<double>(query.others[i].mass);
      if (!shared_[i]) squares += mass * mass;
    }
    return squares;
  }

 private:
  void add(std::int64_t word, float mass) {
    add_vector(vectors_.data + word * vectors_.dimensions, vectors_.dimensions, mass, sum_.data());
  }

  // Asks for the vector of a word that will be added soon: most of them have to come from far.
  void fetch(std::int64_t word) const {
    constexpr std::int64_t line = 16;
    const float* const vector = vectors_.data + word * vectors_.dimensions;
    for (std::int64_t d = 0; d < vectors_.dimensions; d += line) prefetch_line(vector + d);
  }

  bool read_counts(const StoredBags& bags, std::int64_t row) {
    const float total = bags.totals[row];
    empty_ = !(total > 0.0f);
    return bags.read(row, vectors_.words, [&](const auto* words, const auto* counts, std::int64_t size) {
      for (std::int64_t k = 0; k < size && !empty_; ++k) {
        if (k + ahead < size) fetch(words[k + ahead]);
        add(words[k], mass_of(counts[k], total));
      }
    });
  }

  bool read_weighed(const CentroidPart& part, std::int64_t row) {
    const WeighedPart& documents = part.documents;
    const double total = documents.totals[row];
    empty_ = !(total > 0.0);
    const auto each = [&](const StoredBags& bags, const double* weights, std::int64_t count, bool vectors, const auto& use) {
      return bags.rows == 0 || bags.read(row, count, [&](const auto* words, const auto* counts, std::int64_t size) {
        for (std::int64_t k = 0; k < size && !empty_; ++k) {
          if (vectors && k + ahead < size) fetch(words[k + ahead]);
          const double times = documents.repeats.times(static_cast<std::int64_t>(counts[k]), row);
          use(static_cast<std::int32_t>(words[k]), static_cast<float>(times * weights[words[k]] / total));
        }
      });
    };
    return each(documents.known.bags, part.weights.known, std::min(part.weights.known_count, vectors_.words),
                true, [this](std::int32_t word, float mass) { add(word, mass); }) &&
           each(documents.others.bags, part.weights.others, part.weights.other_count, false,
                [this](std::int32_t word, float mass) { others_.push_back({word, mass}); });
  }

  static constexpr std::int64_t ahead = 3;  // words

  const Vectors& vectors_;
  std::vector<double> sum_;
  std::vector<OtherMass> others_;
  std::vector<bool> shared_;
  bool empty_ = true;
};

}  // namespace wordferry
