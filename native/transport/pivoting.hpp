// The inner loop of the network simplex: price, pivot, shift potentials, until nothing gains.
//
// Pricing runs in float32 first, on rough costs, which is twice as fast; every arc that enters is checked in float64.
// When float32 sees nothing that gains, float64 looks again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/watch.hpp"
#include "transport/tree.hpp"

namespace wordferry {

// An arc that may enter the basis.
struct Candidate {
  double cost;
  std::int32_t source, sink;
};

struct Pivoting {
  int m, width;
  const double* fine;  // the costs, m rows of `width`, padded with infinity; null where `rough` are the costs
  const float* rough;  // the costs times `scale`, likewise
  double scale;
  float rough_tolerance;  // on the scale of `rough`: a smaller gain may be rounding
  double tolerance;       // an arc gains when its reduced cost is below minus this
  double* dual;           // m of the sources, then `width` of the sinks
  float* prices;          // room for `width`: the duals of the sinks on the scale of `rough`
  double* minima;         // room for m: once nothing gains, the least of each row of costs less the duals of the sinks
  int next_row;           // where pricing goes on
  Tree* tree;
  Candidate* candidates;  // room for m
  int listed;             // how many there are
  Pace* pace;

  double cost(int i, int j) const {
    const std::ptrdiff_t cell = static_cast<std::ptrdiff_t>(i) * width + j;
    return fine == nullptr ? static_cast<double>(rough[cell]) : fine[cell];
  }
};

// Potentials of the tree from its root down, without what rounding has added up: c = u + v on every arc.
void set_potentials(const Pivoting& state);

// Pivots until no arc gains or `limit` pivots are done; returns how many were. The rough one may miss small gains.
std::int64_t pivot_roughly(Pivoting& state, std::int64_t limit);
std::int64_t pivot_until_optimal(Pivoting& state, std::int64_t limit);

}  // namespace wordferry
