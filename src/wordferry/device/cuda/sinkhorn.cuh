// Transport made soft by an entropy term, by one warp: the rounds of the CPU (native/transport/sinkhorn.cpp) in
// float64, so that they end where those of the CPU end. Columns are the sources, which the CPU calls rows.
#pragma once

#include "transport.cuh"

namespace wordferry {

struct Softness {
  double regularization, tolerance;
  Index rounds;
};

constexpr double safe_factor = 1e60;  // factors beyond this, or below its inverse, go into the potentials
constexpr double first_softness = 0.25, softness_step = 0.5, step_tolerance = 0.01;
constexpr Index rounds_a_step = 100;

WF_DEVICE bool safe(double factor) { return factor < safe_factor && factor > 1 / safe_factor; }

// What rounds know: of columns in registers, of rows in memory; `kernel` is rows x columns.
template <int slots>
struct Scaling {
  double* kernel;
  double* demand;
  double* row_potential;
  double* row_factor;
  LaneArray<double, slots> supply, potential, factor, sums;
};

// Potentials after which every row and every column has a cell that costs nothing; returns the largest cost.
template <int slots>
WF_DEVICE double first_potentials(const Problem& p, Scaling<slots>& z) {
  Lanes<double> least;
  WF_LANES(lane) {
    least[lane] = 0;  // of the costs with the other sign
    WF_UNROLL
    for (int s = 0; s < slots; ++s) z.potential(lane, s) = 1e300;
    for (int i = 0; i < p.rows; ++i) {
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        if (lane + 32 * s >= p.columns) continue;
        const double cost = static_cast<double>(p.costs[i * p.columns + lane + 32 * s]);
        z.potential(lane, s) = lesser(z.potential(lane, s), cost);
        least[lane] = lesser(least[lane], -cost);
      }
    }
  }
  const double largest = -warp_least(least);
  for (int i = 0; i < p.rows; ++i) {
    WF_LANES(lane) {
      least[lane] = 1e300;
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        if (lane + 32 * s >= p.columns) continue;
        const double cost = static_cast<double>(p.costs[i * p.columns + lane + 32 * s]);
        least[lane] = lesser(least[lane], cost - z.potential(lane, s));
      }
    }
    const double found = warp_least(least);
    WF_LANES(lane) {
      if (lane == 0) z.row_potential[i] = found;
    }
  }
  WF_FENCE();
  return largest;
}

// The kernel of the potentials, with all factors 1, and the sums of its columns.
template <int slots>
WF_DEVICE void fill_kernel(const Problem& p, Scaling<slots>& z, double softness) {
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      z.factor(lane, s) = 1;
      z.sums(lane, s) = 0;
    }
    for (int i = 0; i < p.rows; ++i) {
      const double row = z.row_potential[i];
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        const int cell = i * p.columns + lane + 32 * s;
        if (lane + 32 * s >= p.columns) continue;
        const double near = exponential((z.potential(lane, s) + row - static_cast<double>(p.costs[cell])) / softness);
        z.kernel[cell] = near;
        z.sums(lane, s) += near;
      }
    }
    for (int i = lane; i < p.rows; i += 32) z.row_factor[i] = 1;
  }
  WF_FENCE();
}

template <int slots>
WF_DEVICE void absorb(const Problem& p, Scaling<slots>& z, double softness) {
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      if (lane + 32 * s < p.columns) z.potential(lane, s) += softness * logarithm(z.factor(lane, s));
    }
    for (int i = lane; i < p.rows; i += 32) z.row_potential[i] += softness * logarithm(z.row_factor[i]);
  }
  WF_FENCE();
}

// Columns, then rows, are scaled to their masses; `error` is what the columns had missed. False when a factor is out of
// range.
template <int slots>
WF_DEVICE bool scale(const Problem& p, Scaling<slots>& z, double& error) {
  Lanes<double> term;
  Lanes<bool> wild;
  WF_LANES(lane) {
    term[lane] = 0;
    wild[lane] = false;
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      if (lane + 32 * s >= p.columns) continue;
      const double missed = z.factor(lane, s) * z.sums(lane, s) - z.supply(lane, s);
      term[lane] += missed < 0 ? -missed : missed;
      z.factor(lane, s) = z.supply(lane, s) / z.sums(lane, s);
      z.sums(lane, s) = 0;
      wild[lane] = wild[lane] || !safe(z.factor(lane, s));
    }
  }
  error = warp_sum(term);
  bool fits = warp_ballot(wild) == 0;
  for (int i = 0; i < p.rows; ++i) {
    LaneArray<double, slots> near;
    WF_LANES(lane) {
      term[lane] = 0;
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        near(lane, s) = lane + 32 * s < p.columns ? z.kernel[i * p.columns + lane + 32 * s] : 0;
        term[lane] += near(lane, s) * z.factor(lane, s);
      }
    }
    const double factor = z.demand[i] / warp_sum(term);
    fits = fits && safe(factor);
    WF_LANES(lane) {
      WF_UNROLL
      for (int s = 0; s < slots; ++s) z.sums(lane, s) += near(lane, s) * factor;
      if (lane == 0) z.row_factor[i] = factor;
    }
  }
  WF_FENCE();
  return fits;
}

// What the plan costs with exactly the masses of the problem: what is missing is spread in proportion.
template <int slots>
WF_DEVICE double finish(const Problem& p, Scaling<slots>& z) {
  Lanes<double> term, cost;
  LaneArray<double, slots> missing;
  WF_LANES(lane) {
    term[lane] = cost[lane] = 0;
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      missing(lane, s) = 0;
      if (lane + 32 * s >= p.columns) continue;
      const double sum = z.factor(lane, s) * z.sums(lane, s), wanted = z.supply(lane, s);
      missing(lane, s) = wanted > sum ? wanted - sum : 0;
      term[lane] += missing(lane, s);
      if (wanted < sum) z.factor(lane, s) *= wanted / sum;
    }
  }
  const double all = warp_sum(term);
  double missed = 0;
  for (int i = 0; i < p.rows; ++i) {
    const double factor = z.row_factor[i];
    WF_LANES(lane) {
      term[lane] = 0;
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        const int cell = i * p.columns + lane + 32 * s;
        if (lane + 32 * s >= p.columns) continue;
        const double mass = z.kernel[cell] * (z.factor(lane, s) * factor);
        term[lane] += mass;
        cost[lane] += mass * static_cast<double>(p.costs[cell]);
      }
    }
    const double lack = z.demand[i] - warp_sum(term);
    missed += lack > 0 ? lack : 0;
    WF_LANES(lane) {
      if (lane == 0) z.row_potential[i] = lack > 0 ? lack : 0;  // potentials have served
    }
  }
  WF_FENCE();
  WF_LANES(lane) {
    for (int i = 0; all > 0 && missed > 0 && i < p.rows; ++i) {
      const double share = z.row_potential[i] / missed;
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        const int cell = i * p.columns + lane + 32 * s;
        if (lane + 32 * s < p.columns) cost[lane] += missing(lane, s) * share * static_cast<double>(p.costs[cell]);
      }
    }
  }
  WF_FENCE();
  return warp_sum(cost);
}

// The cost of the soft plan of a problem whose costs, masses and sizes are set. Its flows, and two numbers for each row
// at `row_memory`, are used up.
template <int slots>
WF_DEVICE double soft_total(Problem& p, const Softness& rule, double* row_memory, int& steps) {
  Scaling<slots> z;
  z.kernel = reinterpret_cast<double*>(p.flow);
  z.demand = reinterpret_cast<double*>(p.excess);
  z.row_potential = row_memory;
  z.row_factor = row_memory + p.rows;
  Lanes<double> term;
  WF_LANES(lane) {
    term[lane] = 0;
    for (int j = lane; j < p.columns; j += 32) term[lane] += static_cast<double>(p.room[j]);
  }
  const double all = warp_sum(term);
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      z.supply(lane, s) = j < p.columns ? static_cast<double>(p.room[j]) / all : 0;
    }
    for (int i = lane; i < p.rows; i += 32) {
      const double mass = static_cast<double>(p.excess[i]);
      z.demand[i] = mass / all;
    }
  }
  WF_FENCE();
  const double least = rule.regularization, largest = first_softness * first_potentials(p, z);
  if (!(largest < 1e300)) return largest;
  for (double softness = largest > least ? largest : least;;) {
    const bool last = softness == least;
    const Index rounds = last ? rule.rounds : rounds_a_step;
    fill_kernel(p, z, softness);
    for (Index done = 0; done < rounds; ++done) {
      double error = 0;
      const bool fits = scale(p, z, error);
      ++steps;
      if (error <= (last ? rule.tolerance : step_tolerance)) break;
      if (fits) continue;
      absorb(p, z, softness);
      fill_kernel(p, z, softness);
    }
    if (last) return finish(p, z) * all;
    absorb(p, z, softness);
    softness = softness_step * softness > least ? softness_step * softness : least;
  }
}

}  // namespace wordferry
