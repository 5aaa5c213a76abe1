#include "soft_prices.hpp"

#include <cmath>
#include <cstring>

#include "cost_rows.hpp"
#include "cpu.hpp"

namespace wordferry {

namespace {

constexpr int kRounds = 8;
constexpr double kSoftness = 0.1;  // of the typical gap between a cost and the least of its row and column
constexpr float kTiny = 1e-30f;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

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

// kernel_ij = exp(-(c_ij - price_j - least_i) / softness), padded with 0.
WF_CLONES void fill_kernel(const SoftProblem& problem, const double* price, const double* least, float steepness,
                           float* kernel, int width) {
  for (int i = 0; i < problem.m; ++i) {
    const double* costs = problem.costs + static_cast<std::ptrdiff_t>(i) * problem.width;
    float* row = kernel + static_cast<std::ptrdiff_t>(i) * width;
    const double own = least[i];
    for (int j = 0; j < problem.n; ++j) row[j] = exp_minus(static_cast<float>(costs[j] - price[j] - own) * steepness);
    for (int j = problem.n; j < width; ++j) row[j] = 0;
  }
}

// One round: f_i = a_i / sum_j K_ij g_j, then g_j = b_j / sum_i K_ij f_i, in one pass over the kernel.
WF_CLONES void scale_once(const float* kernel, int m, int width, const float* supply, const float* demand,
                          float* scaling, float* sums) {
  for (int j = 0; j < width; ++j) sums[j] = 0;
  for (int i = 0; i < m; ++i) {
    const float* row = kernel + static_cast<std::ptrdiff_t>(i) * width;
    float lane[kFloatLanes] = {};
    for (int j = 0; j < width; j += kFloatLanes) {
      for (int k = 0; k < kFloatLanes; ++k) lane[k] += row[j + k] * scaling[j + k];
    }
    float sum = 0;
    for (int k = 0; k < kFloatLanes; ++k) sum += lane[k];
    const float factor = supply[i] / (sum + kTiny);
    for (int j = 0; j < width; ++j) sums[j] += row[j] * factor;
  }
  for (int j = 0; j < width; ++j) scaling[j] = demand[j] / (sums[j] + kTiny);
}

}  // namespace

// The mean of c_ij - price_j - least_i over a few cells.
double SoftPrices::typical_gap(const SoftProblem& problem, const double* price) {
  double sum = 0;
  for (int i = 0; i < problem.m; ++i) {
    const double* row = problem.costs + static_cast<std::ptrdiff_t>(i) * problem.width;
    least_[at(i)] = row_minimum(row, price, problem.width);
    const int j = static_cast<int>(std::int64_t{7} * i % problem.n);
    sum += row[j] - price[j] - least_[at(i)];
  }
  return sum / problem.m;
}

void SoftPrices::adjust(const SoftProblem& problem, double* price) {
  const int m = problem.m, n = problem.n, width = (n + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
  least_.resize(at(m));
  const double softness = kSoftness * typical_gap(problem, price);
  if (!(softness > 1e-30 && softness < 1e30)) return;
  kernel_.resize(at(m) * at(width));
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
  fill_kernel(problem, price, least_.data(), static_cast<float>(1 / softness), kernel_.data(), width);
  for (int round = 0; round < kRounds; ++round) {
    scale_once(kernel_.data(), m, width, supply_.data(), demand_.data(), scaling_.data(), sums_.data());
  }
  for (int j = 0; j < n; ++j) {
    const double change = softness * std::log(static_cast<double>(scaling_[at(j)]));
    if (std::isfinite(change)) price[j] += change;
  }
}

}  // namespace wordferry
