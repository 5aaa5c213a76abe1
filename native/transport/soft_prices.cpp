#include "transport/soft_prices.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/at.hpp"
#include "transport/cost_rows.hpp"

namespace wordferry {

namespace {

constexpr int rounds = 6;
constexpr float softness_share = 0.1f;  // of the typical gap between a cost and the least of its row and column
constexpr float tiny = 1e-30f;

// exp(-x) for x >= 0 to four digits: 2^whole by the exponent's bits, 2^rest by a polynomial.
inline float exp_minus(float x) {
  const float power = (x > 80.0f ? 80.0f : x) * -1.44269504f;
  const int whole = static_cast<int>(power - 0.5f);
  const float rest = power - static_cast<float>(whole);
  float value = 1.0f + rest * (0.69314718f + rest * (0.24022651f + rest * (0.05550411f + rest * 0.00961813f)));
  std::int32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits += whole * (1 << 23);
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

// Rows are worked on so many at a time that a problem of some size can be stopped in between; a multiple of four,
// because four rows are scaled at once.
constexpr int cells_at_once = 1 << 20;
int rows_at_once(int width) { return 4 * (1 + cells_at_once / 4 / width); }

// kernel_ij = exp(-(c_ij - price_j - least_i) / softness); next to 0 where it is padded, which no mass goes to.
void fill_kernel(const SoftProblem& problem, int begin, int end, const float* price, const float* least,
                 float steepness, float* kernel) {
  for (int i = begin; i < end; ++i) {
    const float* costs = problem.costs + static_cast<std::ptrdiff_t>(i) * problem.width;
    float* row = kernel + static_cast<std::ptrdiff_t>(i) * problem.width;
    const float own = least[i];
    for (int j = 0; j < problem.width; ++j) row[j] = exp_minus((costs[j] - price[j] - own) * steepness);
  }
}

// Of `Rows` rows: f_i = a_i / sum_j K_ij g_j, and sums_j += K_ij f_i.
template <int Rows>
WF_ALWAYS_INLINE void scale_rows(const float* kernel, int width, const float* supply, const float* scaling,
                                 float* sums) {
  float factor[Rows];
  Lanes cell, other, sum[Rows] = {};
  for (int j = 0; j < width; j += lane_count) {
    load(other, scaling + j);
    for (int r = 0; r < Rows; ++r) {
      load(cell, kernel + static_cast<std::ptrdiff_t>(r) * width + j);
      sum[r] += cell * other;
    }
  }
  for (int r = 0; r < Rows; ++r) factor[r] = supply[r] / (sum_of_lanes(sum[r]) + tiny);
  for (int j = 0; j < width; j += lane_count) {
    load(other, sums + j);
    for (int r = 0; r < Rows; ++r) {
      load(cell, kernel + static_cast<std::ptrdiff_t>(r) * width + j);
      other += factor[r] * cell;
    }
    store(sums + j, other);
  }
}

// f from g, and what the rows from `begin` to `end` add to sum_i K_ij f_i, in one pass over the kernel.
void scale_some(const float* kernel, int begin, int end, int width, const float* supply, const float* scaling,
                float* sums) {
  int i = begin;
  for (; i + 4 <= end; i += 4) {
    scale_rows<4>(kernel + static_cast<std::ptrdiff_t>(i) * width, width, supply + i, scaling, sums);
  }
  for (; i < end; ++i) scale_rows<1>(kernel + static_cast<std::ptrdiff_t>(i) * width, width, supply + i, scaling, sums);
}

}  // namespace

// The mean of c_ij - price_j - least_i over a few cells.
float SoftPrices::typical_gap(const SoftProblem& problem, const float* price, Pace& pace) {
  float sum = 0;
  for (int i = 0; i < problem.m; ++i) {
    const float* row = problem.costs + static_cast<std::ptrdiff_t>(i) * problem.width;
    pace.spend(problem.width);
    least_[at(i)] = minimum_of_row(row, price, problem.width);
    const int j = static_cast<int>(std::int64_t{7} * i % problem.n);
    sum += row[j] - price[j] - least_[at(i)];
  }
  return sum / static_cast<float>(problem.m);
}

void SoftPrices::adjust(const SoftProblem& problem, float* price, Pace& pace) {
  const int m = problem.m, n = problem.n, width = problem.width;
  least_.resize(at(m));
  const float softness = softness_share * typical_gap(problem, price, pace);
  if (!(softness > tiny && softness < 1 / tiny)) return;
  kernel_.reserve(at(m) * at(width));
  supply_.resize(at(m));
  demand_.assign(at(width), 0);
  scaling_.assign(at(width), 0);
  sums_.resize(at(width));
  double total = 0;
  for (int i = 0; i < m; ++i) total += static_cast<double>(problem.supply[i]);
  for (int i = 0; i < m; ++i) supply_[at(i)] = static_cast<float>(static_cast<double>(problem.supply[i]) / total);
  for (int j = 0; j < n; ++j) {
    demand_[at(j)] = static_cast<float>(static_cast<double>(problem.demand[j]) / total);
    scaling_[at(j)] = 1;
  }
  const int rows = rows_at_once(width);
  for (int begin = 0; begin < m; begin += rows) {
    const int end = std::min(m, begin + rows);
    pace.spend(std::int64_t{end - begin} * width);
    fill_kernel(problem, begin, end, price, least_.data(), 1 / softness, kernel_.data());
  }
  for (int round = 0; round < rounds; ++round) {
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    for (int begin = 0; begin < m; begin += rows) {
      const int end = std::min(m, begin + rows);
      pace.spend(std::int64_t{end - begin} * width);
      scale_some(kernel_.data(), begin, end, width, supply_.data(), scaling_.data(), sums_.data());
    }
    for (int j = 0; j < width; ++j) scaling_[at(j)] = demand_[at(j)] / (sums_[at(j)] + tiny);
  }
  for (int j = 0; j < n; ++j) {
    const float change = softness * std::log(scaling_[at(j)]);
    if (std::isfinite(change)) price[j] += change;
  }
}

}  // namespace wordferry
