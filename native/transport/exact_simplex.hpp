// The careful path: network simplex in exact arithmetic (wide.hpp), optimal whatever the spread of the costs.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/solver.hpp"

namespace wordferry {

// Goes on from `tree`, a strongly feasible basis of `problem`, to the true optimum; fills the duals (sources, then
// sinks), rounded once. Returns the pivots it took.
std::int64_t exact_simplex(const Solver& problem, Tree& tree, std::vector<double>& dual, Pace& pace);

}  // namespace wordferry
