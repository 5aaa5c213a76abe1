// One transportation problem with dense costs and whole masses, solved to a proved optimum; one object serves many
// problems in turn and keeps its memory.
//
// Network simplex in float64, followed by a rigorous check of the duality gap; when that fails (costs that span more
// orders of magnitude than float64 has digits), the simplex goes on from its last tree in exact arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cost_rows.hpp"
#include "pivoting.hpp"
#include "soft_prices.hpp"
#include "tree.hpp"

namespace wordferry {

// Asked now and then inside a long solve; true means give up (the solve then throws Interrupted).
using Stopped = std::function<bool()>;

enum class Proof : std::int32_t {
  failed = 0,   // a cost is NaN or infinite
  bounded = 1,  // float64, with a rigorous bound of 1e-9 of the cost on the duality gap
  exact = 2,    // optimal in exact arithmetic
};

class Solver {
 public:
  struct Flow {
    std::int32_t source, sink;
    Mass mass;
  };

  // Makes room for m x n; then fill cost_row(i), supply() and demand() (positive, of equal sums) and solve().
  void prepare(int m, int n);
  double* cost_row(int i) { return costs_.data() + static_cast<std::ptrdiff_t>(i) * width_; }
  Mass* supply() { return supply_.data(); }
  Mass* demand() { return demand_.data(); }

  Proof solve(const Stopped& stopped);

  // A lower bound on the optimum from one dual ascent either way, cheaper than a solve by an order of magnitude.
  double dual_bound();

  int sources() const { return m_; }
  int sinks() const { return n_; }
  double cost(int i, int j) const { return row(i)[j]; }
  const Mass* supply() const { return supply_.data(); }
  const Mass* demand() const { return demand_.data(); }
  double total() const { return total_; }           // the optimum: sum of mass times cost
  std::int64_t pivots() const { return pivots_; }
  const std::vector<Flow>& plan() const { return plan_; }
  const double* source_duals() const { return dual_.data(); }
  const double* sink_duals() const { return dual_.data() + m_; }

 private:
  const double* row(int i) const { return costs_.data() + static_cast<std::ptrdiff_t>(i) * width_; }
  bool scan_costs();
  void start();
  Least best_open(int i) const;
  void serve(int i, int j);
  void serve_in_turn();
  bool serve_by_regret();
  void join_components();
  Proof solve_single();
  bool improve(const Stopped& stopped);
  void collect_plan();
  void sum_plan();
  bool proved() const;

  int m_ = 0, n_ = 0, width_ = 0;
  std::vector<double> costs_;  // rows of width_, padded with infinity
  double largest_ = 0, smallest_ = 0;
  std::vector<Mass> supply_, demand_, left_, right_;
  std::vector<double> dual_;  // of the sources, then of the sinks
  std::vector<double> least_, open_;
  Tree tree_;
  std::vector<Candidate> candidates_;
  SoftPrices soft_prices_;
  struct Wish {
    double regret;
    std::int32_t source, sink;
  };
  std::vector<Wish> wishes_;
  std::vector<char> reached_;
  std::vector<std::int32_t> found_;
  std::vector<Flow> plan_;
  double total_ = 0, size_ = 0;  // the optimum, and the sum of its terms' sizes
  std::int64_t pivots_ = 0;
};

}  // namespace wordferry
