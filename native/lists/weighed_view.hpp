// Words and documents that weigh more or less, as Python hands them over.
#pragma once

#include <limits>
#include <utility>

#include "lists/part.hpp"
#include "lists/repeats_view.hpp"
#include "lists/weighed.hpp"

namespace wordferry {

constexpr double largest_weight = 1e12;
constexpr float largest_words = 1e30f;

// What every word weighs: more than nothing.
class Weights {
 public:
  Weights(In<double> known, In<double> others) : known_(std::move(known)), others_(std::move(others)) {
    bool fits = true;
    for (const In<double>* some : {&known_, &others_}) {
      for (std::int64_t i = 0; i < some->length(); ++i) {
        const double weight = some->data()[i];
        fits &= weight > 1.0 / largest_weight && weight < largest_weight;
      }
    }
    require(fits, "weights must be more than 0");
    require(known_.length() + others_.length() < std::numeric_limits<std::int32_t>::max(), "there are too many words");
  }

  WordWeights get() const {
    return {known_.data(), known_.length(), others_.data(), others_.length()};
  }

 private:
  In<double> known_, others_;
};

// Documents with their words of both kinds; holds on to its arrays.
class Weighed {
 public:
  Weighed(const ListPart& known, const ListPart& others, In<double> totals, float words, const RepeatedWords& repeats)
      : known_(known), others_(others), totals_(std::move(totals)), words_(words), repeats_(repeats) {
    require(others.documents() == known.documents() || others.documents() == 0, "both kinds of words are of the same documents");
    require(totals_.length() == known.documents() || totals_.length() == 0, "one total for each document, or none");
    require(words >= 0.0f && words <= largest_words, "words must be a number of words");
    repeats_.get(known.documents());
  }

  std::int64_t documents() const { return known_.documents(); }
  bool has_totals() const { return totals_.length() == known_.documents(); }
  WeighedPart get(std::int64_t start, const std::uint8_t* allowed) const {
    return {known_.get(start, allowed), others_.get(start, nullptr), totals_.data(), words_,
            repeats_.get(known_.documents())};
  }

 private:
  ListPart known_, others_;
  In<double> totals_;
  float words_;
  RepeatedWords repeats_;
};

}  // namespace wordferry
