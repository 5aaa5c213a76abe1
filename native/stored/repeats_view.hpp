// How much repeated words count, as Python hands it over.
#pragma once

#include <cmath>
#include <utility>

#include "stored/repeats.hpp"
#include "support/bind.hpp"

namespace wordferry {

class RepeatedWords {
 public:
  RepeatedWords(Growth growth, In<double> room) : growth_(growth), room_(std::move(room)) {
    constexpr double largest = 1e30;
    bool fits = true;
    for (std::int64_t i = 0; i < room_.length(); ++i) fits &= room_.data()[i] >= 0.0 && room_.data()[i] <= largest;
    require(fits, "room must be finite, and not negative");
  }

  Repeats get(std::int64_t documents) const {
    require(growth_ != Growth::saturation || room_.length() == documents, "room has one value for each document");
    return {growth_, room_.data()};
  }

 private:
  Growth growth_;
  In<double> room_;
};

}  // namespace wordferry
