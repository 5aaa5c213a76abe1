// Good prices to start from: a few rounds of Sinkhorn's scaling, in float32. They only steer the start of the network
// simplex; nothing of the answer depends on their precision.
#pragma once

#include <cstdint>
#include <vector>

#include "support/buffer.hpp"
#include "support/watch.hpp"

namespace wordferry {

// What the rounds need of a problem: costs in rows of `width`, padded with infinity, and masses.
struct SoftProblem {
  int m, n, width;
  const float* costs;
  const std::int64_t* supply;
  const std::int64_t* demand;
};

class SoftPrices {
 public:
  // `price` holds the least cost of each column; what is added makes columns that are in demand dearer.
  void adjust(const SoftProblem& problem, float* price, Pace& pace);

 private:
  float typical_gap(const SoftProblem& problem, const float* price, Pace& pace);

  Buffer<float> kernel_;
  std::vector<float> supply_, demand_, scaling_, sums_, least_;
};

}  // namespace wordferry
