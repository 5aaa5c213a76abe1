// One transportation problem with dense costs and whole masses, solved to a proved optimum; one object serves many
// problems in turn and keeps its memory.
//
// Costs are float32 or float64. Network simplex in float64, steered by float32 (pivoting.cpp), followed by a rigorous
// check of the duality gap; when that fails (costs that span more orders of magnitude than float64 has digits), the
// simplex goes on from its last tree in exact arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/buffer.hpp"
#include "support/watch.hpp"
#include "transport/cost_rows.hpp"
#include "transport/tree.hpp"

namespace wordferry {

enum class Precision { rough, fine };  // float32, float64

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

  // Every step that grows with the size of the problem asks the watch, and throws Interrupted when it says stop.
  explicit Solver(Watch& watch) : pace_(watch) {}

  // Makes room for m x n; then fill fine_row(i) or rough_row(i), supply() and demand() (positive, of equal sums) and
  // solve().
  void prepare(int m, int n, Precision costs);
  // Of float64 costs.
  double* fine_row(int i) { return fine_.data() + static_cast<std::ptrdiff_t>(i) * width_; }
  // Of float32 costs, which are distances of float32 vectors: roots, so far from the limits of float32.
  float* rough_row(int i) { return rough_.data() + static_cast<std::ptrdiff_t>(i) * width_; }
  Mass* supply() { return supply_.data(); }
  Mass* demand() { return demand_.data(); }

  Proof solve();

  // A source and a sink (or -1) that cost the same onto everything: their rows and columns are flat.
  struct Flat {
    int source = -1, sink = -1;
  };
  // A lower bound on the optimum of float32 costs, none negative, from one dual ascent either way; cheaper than a solve
  // by an order of magnitude.
  double dual_bound(Flat flat);

  int sources() const { return m_; }
  int sinks() const { return n_; }
  double cost(int i, int j) const {
    const std::ptrdiff_t cell = static_cast<std::ptrdiff_t>(i) * width_ + j;
    return precision_ == Precision::fine ? fine_.data()[cell] : static_cast<double>(rough_.data()[cell]);
  }
  const Mass* supply() const { return supply_.data(); }
  const Mass* demand() const { return demand_.data(); }
  double total() const { return total_; }  // the optimum: sum of mass times cost
  std::int64_t pivots() const { return pivots_; }
  const std::vector<Flow>& plan() const { return plan_; }
  const double* source_duals() const { return dual_.data(); }
  const double* sink_duals() const { return dual_.data() + m_; }

 private:
  const float* rough_row(int i) const { return rough_.data() + static_cast<std::ptrdiff_t>(i) * width_; }
  bool scan_costs();
  void round_costs();
  void start();
  float typical_gap();
  void soften_prices();
  void serve(int i, int j);
  bool serve_by_regret();
  void join_components();
  Proof solve_single();
  struct Candidate {  // an arc that may enter the basis
    double cost;
    std::int32_t source, sink;
  };
  struct Entering {
    std::int32_t source, sink;
    double reduced;
  };
  struct FinePricing;
  struct RoughPricing;
  bool improve();
  void set_potentials();
  bool choose(Entering& entering);
  template <class Pricing>
  bool price(Entering& entering);
  template <class Pricing>
  std::int64_t pivot(std::int64_t limit);
  void shift_potentials(const Tree::Moved& moved, double reduced);
  void collect_plan();
  void sum_plan();
  bool proved() const;
  double sources_first(int flat);
  double sinks_first(int flat);

  Pace pace_;
  int m_ = 0, n_ = 0, width_ = 0;
  Precision precision_ = Precision::fine;
  Buffer<double> fine_;  // rows of width_, padded with infinity
  Buffer<float> rough_;  // the same times scale_
  double largest_ = 0, smallest_ = 0;
  double scale_ = 1;
  std::vector<Mass> supply_, demand_, left_, right_;
  std::vector<double> dual_;    // of the sources, then of the sinks
  std::vector<double> minima_;  // once nothing gains, the least of each row of costs less the duals of the sinks
  std::vector<float> prices_;   // of the sinks, on the scale of rough_
  std::vector<float> open_;     // the same, -infinity for sinks without room
  std::vector<float> least_;
  std::vector<std::pair<float, Mass>> rooms_;  // of one side: how far its dual may rise, and its mass
  Tree tree_;
  std::vector<Candidate> candidates_;  // listed_ of them
  int listed_ = 0, next_row_ = 0;      // next_row_: where pricing goes on
  double tolerance_ = 0;               // an arc gains when its reduced cost is below minus this
  float rough_tolerance_ = 0;          // on the scale of rough_: a smaller gain may be rounding
  Buffer<float> kernel_;               // of the rounds of Sinkhorn's scaling that soften prices, as what follows
  std::vector<float> soft_supply_, soft_demand_, scaling_, sums_;
  std::vector<std::uint64_t> wishes_;  // sources by regret: its bits turned round, then the source
  std::vector<std::int32_t> wanted_;   // the sink that each wants
  std::vector<char> reached_;
  std::vector<std::int32_t> found_;
  std::vector<Flow> plan_;
  double total_ = 0, size_ = 0;  // the optimum, and the sum of its terms' sizes
  std::int64_t pivots_ = 0;
};

// The careful path: network simplex in exact arithmetic. Goes on from `tree`, a strongly feasible basis of `problem`,
// to the true optimum whatever the spread of the costs; fills the duals (sources, then sinks), rounded once. Returns
// the pivots it took.
std::int64_t exact_simplex(const Solver& problem, Tree& tree, std::vector<double>& dual, Pace& pace);

}  // namespace wordferry
