// Transport between documents: from two bags of whole weights to the value of the cheapest plan.
//
// Masses are exact: weight c_i of x against total T' of y gives c_i * T' / g, weight c'_j gives c'_j * T / g, with
// g = gcd(T, T'). Values do not depend on which document is called x: of the two the one with fewer words left (then
// the smaller first word) is the side of the sources.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "support/csr.hpp"
#include "transport/sinkhorn.hpp"
#include "transport/solver.hpp"

namespace wordferry {

using Bags = Csr<std::int64_t>;  // whole weights

// Word-to-word costs of one block of queries: row row_of[word of x] and column column_of[word of y] of `costs`.
// A shared row (or column), if it is not -1, is that of several words whose costs are all the same: what is left of
// them without common mass is one source (or sink).
struct DenseCosts {
  const float* costs;
  const std::int32_t* row_of;
  const std::int32_t* column_of;
  std::int64_t columns;
  std::int32_t shared_row = -1, shared_column = -1;

  const float* row(std::int32_t word) const { return costs + columns * row_of[word]; }
};

// Related words with their costs, below or at c_max; all other pairs cost c_max.
struct HubCosts {
  CsrF graph;
  double c_max;
};

// What a pair of documents is compared by, given distances of words.
enum class TransportKind { wmd, act_omr, act_residual };

// The kind, and its parameters: the transfers of act; whether common mass moves, and what Sinkhorn's rounds need (no
// rounds solve the problem), of wmd.
struct TransportRule {
  TransportKind kind = TransportKind::wmd;
  int transfers = 0;
  bool keep = false;
  SinkhornSettings soft;
};

// Thrown when a problem has no proved optimum.
struct Unsolved {
  std::int64_t x, y;
};

// Values for one query at a time, on one thread; long ones ask the watch that they are made with: begin(row of x, how
// many rows of y will be asked for), then any of the others.
class Pairs {
 public:
  virtual ~Pairs() = default;
  virtual void begin(std::int64_t query, std::int64_t expected) = 0;
  // The optimum, as a share of the mass: the distance.
  virtual double solve(std::int64_t other) = 0;
  // A lower bound, cheaper than solve(); a solve() of the same row right after it reuses its work.
  virtual double bound(std::int64_t other) = 0;
};

// wmd; common mass stays, which is optimal for a metric, or with `keep` moves like any other. With Sinkhorn's rounds,
// values are those of the soft plan, and wmd is the bound.
std::unique_ptr<Pairs> wmd_pairs(const Bags& x, const Bags& y, const DenseCosts& costs, const TransportRule& rule,
                                 Watch& watch);

// rel-wmd in the form of equations (8)-(11); `keep` moves common mass like any other, else it stays first.
std::unique_ptr<Pairs> hub_pairs(const Bags& x, const Bags& y, const HubCosts& costs, bool keep, Watch& watch);

// act: common mass stays, then `transfers` nearest other words within their masses, the rest at the next distance;
// the larger of the two directions. With act_residual, only what is left of a word can receive.
std::unique_ptr<Pairs> act_pairs(const Bags& x, const Bags& y, const DenseCosts& costs, const TransportRule& rule,
                                 Watch& watch);

// What is left of two bags without their common mass (or all of both), in whole masses of equal sum. Common mass of
// words that share a row of costs always stays: they cost less onto themselves than that row says.
struct Left {
  struct Side {
    std::vector<std::int32_t> words;
    std::vector<Mass> mass;

    void clear() {
      words.clear();
      mass.clear();
    }
    void add(std::int32_t word, Mass some) {
      words.push_back(word);
      mass.push_back(some);
    }
    int size() const { return static_cast<int>(words.size()); }
  };

  Side x, y;
  std::vector<std::int32_t> places;  // of the words of x among those of the query
  double total = 1;                  // all mass, common included
  bool swap = false;  // y is the side of the sources: of the two the one that has to be for values to be the same both
                      // ways round
  void set_swap() { swap = x.size() != y.size() ? y.size() < x.size() : y.words < x.words; }
  const Side& sources() const { return swap ? y : x; }
  const Side& sinks() const { return swap ? x : y; }
};

class Rest {
 public:
  Rest(const Bags& x, const Bags& y, bool keep, const DenseCosts* costs = nullptr)
      : x_(x), y_(y), keep_(keep), costs_(costs) {}
  // False when the value is already known: 0 for equal or both empty, infinity for one empty document.
  bool find(std::int64_t query, std::int64_t other, double& value);
  const Left& left() const { return left_; }

 private:
  Bags x_, y_;
  bool moves(std::int32_t word) const {
    return keep_ && !(costs_ && costs_->shared_row >= 0 && costs_->row_of[word] == costs_->shared_row);
  }

  bool keep_;
  const DenseCosts* costs_;
  Left left_;
};

}  // namespace wordferry
