// Entropy-regularised transport (Cuturi 2013): the plan that minimises <P, C> - regularization * H(P), by scaling rows
// and columns in turn.
//
// Potentials are kept as logarithms. The kernel exp((f_i + g_j - c_ij) / regularization) is made anew when a factor
// leaves the range that float64 multiplies safely, so that nothing overflows however small the regularisation is, and
// the rounds in between need no exponentials.
#pragma once

#include <vector>

#include "support/buffer.hpp"
#include "support/watch.hpp"

namespace wordferry {

struct SinkhornSettings {
  double regularization = 1, tolerance = 0;
  int rounds = 0;
};

// Costs in rows of `width`, a multiple of lane_count; masses that sum to 1.
struct SinkhornProblem {
  int m, n, width;
  const float* costs;
  const double* supply;
  const double* demand;
  const float* row(int i) const { return costs + static_cast<std::ptrdiff_t>(i) * width; }
};

class Sinkhorn {
 public:
  Sinkhorn(const SinkhornSettings& settings, Watch& watch) : settings_(settings), pace_(watch) {}

  // What a plan with exactly these masses costs, which is never below the optimum: what is missing of the scaled plan
  // is spread in proportion (Altschuler, Weed & Rigollet 2017, algorithm 2).
  double solve(const SinkhornProblem& problem);

  // Of the problem solved last: a lower bound on the optimum from the potentials; by how much mass the scaled plan
  // missed its rows, before that was made good; how many rounds there were; and the plan in rows of `width`.
  double lower_bound(const SinkhornProblem& problem) const;
  double error() const { return error_; }
  int rounds() const { return done_; }
  const double* plan() const { return kernel_.data(); }

 private:
  double start(const SinkhornProblem& problem);
  void fill(const SinkhornProblem& problem, double softness);
  void absorb(double softness);
  bool round(const SinkhornProblem& problem);
  double finish(const SinkhornProblem& problem);

  SinkhornSettings settings_;
  Pace pace_;
  Buffer<double> kernel_;
  std::vector<double> rows_, columns_;                // potentials f and g
  std::vector<double> row_factors_, column_factors_;  // by which the kernel is scaled
  std::vector<double> sums_;
  double error_ = 0;
  int done_ = 0;
};

}  // namespace wordferry
