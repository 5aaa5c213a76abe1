// The inner loop of the float64 network simplex: price, pivot, shift potentials, until nothing gains.
#pragma once

#include <cstdint>

#include "tree.hpp"

namespace wordferry {

// An arc that may enter the basis.
struct Candidate {
  std::int32_t source, sink;
};

struct Pivoting {
  int m, n, width;
  const double* costs;  // m rows of `width`, padded with infinity
  double* dual;         // m of the sources, then `width` of the sinks
  double tolerance;     // an arc gains when its reduced cost is below minus this
  int next_row;         // where pricing goes on
  Tree* tree;
  Candidate* candidates;  // room for m
  int listed;             // how many there are
};

// Potentials of the tree from its root down, without what rounding has added up: c = u + v on every arc.
void set_potentials(const Pivoting& state);

// Pivots until no arc gains or `limit` pivots are done; returns how many were.
std::int64_t pivot_until_optimal(Pivoting& state, std::int64_t limit);

}  // namespace wordferry
