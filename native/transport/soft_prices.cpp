// Good prices to start from: a few rounds of Sinkhorn's scaling, in float32. They only steer the start of the network
// simplex; nothing of the answer depends on their precision.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/at.hpp"
#include "transport/cost_rows.hpp"
#include "transport/solver.hpp"

namespace wordferry {

namespace {

constexpr int soft_rounds = 6;
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

// A row of the kernel.
void fill_kernel(const float* costs, const float* price, float own, float steepness, int width, float* kernel) {
  for (int j = 0; j < width; ++j) kernel[j] = exp_minus((costs[j] - price[j] - own) * steepness);
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

}  // namespace

// The mean of c_ij - price_j - least_i over a few cells.
float Solver::typical_gap() {
  const float* const price = prices_.data();
  float sum = 0;
  for (int i = 0; i < m_; ++i) {
    const float* row = rough_row(i);
    pace_.spend(width_);
    least_[at(i)] = minimum_of_row(row, price, width_);
    const int j = static_cast<int>(std::int64_t{7} * i % n_);
    sum += row[j] - price[j] - least_[at(i)];
  }
  return sum / static_cast<float>(m_);
}

// Prices hold the least cost of each column; what is added makes columns that are in demand dearer. The kernel is
// exp(-(c_ij - price_j - least_i) / softness); next to 0 where it is padded, which no mass goes to.
void Solver::soften_prices() {
  float* const price = prices_.data();
  least_.resize(at(m_));
  const float softness = softness_share * typical_gap();
  if (!(softness > tiny && softness < 1 / tiny)) return;
  kernel_.reserve(at(m_) * at(width_));
  soft_supply_.resize(at(m_));
  soft_demand_.assign(at(width_), 0);
  scaling_.assign(at(width_), 0);
  sums_.resize(at(width_));
  double total = 0;
  for (int i = 0; i < m_; ++i) total += static_cast<double>(supply_[at(i)]);
  for (int i = 0; i < m_; ++i) soft_supply_[at(i)] = static_cast<float>(static_cast<double>(supply_[at(i)]) / total);
  for (int j = 0; j < n_; ++j) {
    soft_demand_[at(j)] = static_cast<float>(static_cast<double>(demand_[at(j)]) / total);
    scaling_[at(j)] = 1;
  }
  const auto kernel_row = [this](int i) { return kernel_.data() + static_cast<std::ptrdiff_t>(i) * width_; };
  for (int i = 0; i < m_; ++i) {
    pace_.spend(width_);
    fill_kernel(rough_row(i), price, least_[at(i)], 1 / softness, width_, kernel_row(i));
  }
  for (int round = 0; round < soft_rounds; ++round) {
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    int i = 0;
    for (; i + 4 <= m_; i += 4) {
      pace_.spend(std::int64_t{4} * width_);
      scale_rows<4>(kernel_row(i), width_, soft_supply_.data() + i, scaling_.data(), sums_.data());
    }
    for (; i < m_; ++i) scale_rows<1>(kernel_row(i), width_, soft_supply_.data() + i, scaling_.data(), sums_.data());
    for (int j = 0; j < width_; ++j) scaling_[at(j)] = soft_demand_[at(j)] / (sums_[at(j)] + tiny);
  }
  for (int j = 0; j < n_; ++j) {
    const float change = softness * std::log(scaling_[at(j)]);
    if (std::isfinite(change)) price[j] += change;
  }
}

}  // namespace wordferry
