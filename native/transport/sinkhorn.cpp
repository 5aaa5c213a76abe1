#include "transport/sinkhorn.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/at.hpp"
#include "support/lanes.hpp"

namespace wordferry {

namespace {

constexpr double no_bound = std::numeric_limits<double>::infinity();
constexpr double safe = 1e60;            // factors beyond this, or below its inverse, go into the potentials
constexpr double first_softness = 0.25;  // of the largest cost: rounds with a soft kernel converge at once,
constexpr double softness_step = 0.5;    // and each harder one starts from where a softer one has come to,
constexpr double step_tolerance = 0.01;  // which need not be far
constexpr int rounds_a_step = 100;
constexpr int lanes = double_lane_count;

// The sum of row[j] * factor[j], in eight sums side by side.
double product(const double* row, const double* factor, int width) {
  double sum[lanes] = {};
  for (int j = 0; j < width; j += lanes) {
    for (int k = 0; k < lanes; ++k) sum[k] += row[j + k] * factor[j + k];
  }
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// sums[j] += row[j] * factor
void add_scaled(double* sums, const double* row, double factor, int width) {
  for (int j = 0; j < width; ++j) sums[j] += row[j] * factor;
}

bool in_range(const std::vector<double>& factors, int count) {
  return std::all_of(factors.begin(), factors.begin() + count, [](double x) { return x < safe && x > 1 / safe; });
}

}  // namespace

// Potentials of the hard problem's first step, after which every row and every column has a cell that costs nothing;
// returns the largest cost.
double Sinkhorn::start(const SinkhornProblem& problem) {
  rows_.assign(at(problem.m), no_bound);
  columns_.assign(at(problem.n), no_bound);
  double largest = 0;
  for (int i = 0; i < problem.m; ++i) {
    pace_.spend(problem.width);
    for (int j = 0; j < problem.n; ++j) {
      const double cost = static_cast<double>(problem.row(i)[j]);
      rows_[at(i)] = std::min(rows_[at(i)], cost);
      largest = std::max(largest, cost);
    }
    for (int j = 0; j < problem.n; ++j) {
      columns_[at(j)] = std::min(columns_[at(j)], static_cast<double>(problem.row(i)[j]) - rows_[at(i)]);
    }
  }
  row_factors_.assign(at(problem.m), 1);
  column_factors_.assign(at(problem.width), 0);
  sums_.resize(at(problem.width));
  kernel_.reserve(at(problem.m) * at(problem.width));
  return largest;
}

void Sinkhorn::fill(const SinkhornProblem& problem, double softness) {
  for (int i = 0; i < problem.m; ++i) {
    pace_.spend(std::int64_t{4} * problem.width);
    const float* costs = problem.row(i);
    double* row = kernel_.data() + static_cast<std::ptrdiff_t>(i) * problem.width;
    for (int j = 0; j < problem.n; ++j) {
      row[j] = std::exp((rows_[at(i)] + columns_[at(j)] - static_cast<double>(costs[j])) / softness);
    }
    std::fill(row + problem.n, row + problem.width, 0.0);
  }
  std::fill(row_factors_.begin(), row_factors_.end(), 1.0);
  std::fill(column_factors_.begin(), column_factors_.begin() + problem.n, 1.0);
}

void Sinkhorn::absorb(double softness) {
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] += softness * std::log(row_factors_[i]);
  for (std::size_t j = 0; j < columns_.size(); ++j) columns_[j] += softness * std::log(column_factors_[j]);
}

// Rows, then columns, are scaled to their masses, in one pass over the kernel; false when a factor is out of range.
bool Sinkhorn::round(const SinkhornProblem& problem) {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  error_ = 0;
  for (int i = 0; i < problem.m; ++i) {
    pace_.spend(problem.width);
    const double* row = kernel_.data() + static_cast<std::ptrdiff_t>(i) * problem.width;
    const double sum = product(row, column_factors_.data(), problem.width), wanted = problem.supply[i];
    error_ += std::fabs(row_factors_[at(i)] * sum - wanted);
    row_factors_[at(i)] = wanted / sum;
    add_scaled(sums_.data(), row, row_factors_[at(i)], problem.width);
  }
  for (int j = 0; j < problem.n; ++j) column_factors_[at(j)] = problem.demand[j] / sums_[at(j)];
  return in_range(row_factors_, problem.m) && in_range(column_factors_, problem.n);
}

double Sinkhorn::solve(const SinkhornProblem& problem) {
  const double least = settings_.regularization;
  double softness = std::max(least, first_softness * start(problem));
  for (;; softness = std::max(least, softness_step * softness)) {
    fill(problem, softness);
    const bool last = softness == least;
    const int rounds = last ? settings_.rounds : rounds_a_step;
    for (done_ = 0; done_ < rounds; ++done_) {
      const bool fits = round(problem);
      if (error_ <= (last ? settings_.tolerance : step_tolerance)) break;
      if (fits) continue;
      absorb(softness);
      fill(problem, softness);
    }
    const double value = last ? finish(problem) : 0;
    absorb(softness);
    if (last) return value;
  }
}

// The plan in the place of the kernel, with exactly the masses of the problem, and what it costs.
double Sinkhorn::finish(const SinkhornProblem& problem) {
  std::vector<double> missing(at(problem.m));
  std::fill(sums_.begin(), sums_.end(), 0.0);
  double all = 0, value = 0, missed = 0;
  error_ = 0;
  for (int i = 0; i < problem.m; ++i) {
    double* row = kernel_.data() + static_cast<std::ptrdiff_t>(i) * problem.width;
    const double sum = row_factors_[at(i)] * product(row, column_factors_.data(), problem.width);
    const double wanted = problem.supply[i], factor = row_factors_[at(i)] * std::min(1.0, wanted / sum);
    error_ += std::fabs(sum - wanted);
    missing[at(i)] = std::max(0.0, wanted - sum);
    all += missing[at(i)];
    for (int j = 0; j < problem.width; ++j) row[j] *= factor * column_factors_[at(j)];
    add_scaled(sums_.data(), row, 1, problem.width);
  }
  for (int j = 0; j < problem.n; ++j) {
    sums_[at(j)] = std::max(0.0, problem.demand[j] - sums_[at(j)]);
    missed += sums_[at(j)];
  }
  for (int i = 0; i < problem.m; ++i) {
    pace_.spend(problem.width);
    double* row = kernel_.data() + static_cast<std::ptrdiff_t>(i) * problem.width;
    if (all > 0 && missed > 0) add_scaled(row, sums_.data(), missing[at(i)] / missed, problem.n);
    double cost = 0;
    for (int j = 0; j < problem.n; ++j) cost += row[j] * static_cast<double>(problem.row(i)[j]);
    value += cost;
  }
  return value;
}

double Sinkhorn::lower_bound(const SinkhornProblem& problem) const {
  std::vector<double> price(at(problem.n), no_bound);  // the highest that the rows' potentials allow
  for (int i = 0; i < problem.m; ++i) {
    for (int j = 0; j < problem.n; ++j) {
      price[at(j)] = std::min(price[at(j)], static_cast<double>(problem.row(i)[j]) - rows_[at(i)]);
    }
  }
  double bound = 0;
  for (int j = 0; j < problem.n; ++j) bound += problem.demand[j] * price[at(j)];
  for (int i = 0; i < problem.m; ++i) {
    double least = no_bound;
    for (int j = 0; j < problem.n; ++j) {
      least = std::min(least, static_cast<double>(problem.row(i)[j]) - price[at(j)]);
    }
    bound += problem.supply[i] * least;
  }
  return bound;
}

}  // namespace wordferry
