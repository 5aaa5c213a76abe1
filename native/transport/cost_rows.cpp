#include "transport/cost_rows.hpp"

#include <algorithm>
#include <limits>

namespace wordferry {

namespace {

// Of the columns from `first` on; `odd` becomes NaN once a value is not finite.
template <class Cost>
Range range_of(const Cost* costs, int m, int first, int n, int width) {
  Cost low = costs[0], high = costs[0], odd = 0;
  for (int i = 0; i < m; ++i) {
    const Cost* row = costs + static_cast<std::ptrdiff_t>(i) * width;
    for (int j = first; j < n; ++j) {
      low = row[j] < low ? row[j] : low;
      high = row[j] > high ? row[j] : high;
      odd += row[j] * Cost{0};
    }
  }
  return {low, high, odd == 0};
}

}  // namespace

Range cost_range(const float* costs, int m, int n, int width) {
  const int whole = n / lane_count * lane_count;
  const Range rest = range_of(costs, m, whole, n, width);
  Lanes cost, lows, highs, odds{};
  fill_lanes(lows, costs[0]);
  fill_lanes(highs, costs[0]);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < whole; j += lane_count) {
      load(cost, costs + static_cast<std::ptrdiff_t>(i) * width + j);
      keep_lower(lows, cost);
      keep_higher(highs, cost);
      odds += 0.0f * cost;
    }
  }
  double low = rest.low, high = rest.high;
  for (int k = 0; k < lane_count; ++k) {
    low = std::min(low, static_cast<double>(lane(lows, k)));
    high = std::max(high, static_cast<double>(lane(highs, k)));
  }
  return {low, high, rest.finite && sum_of_lanes(odds) == 0.0f};
}

Range cost_range(const double* costs, int m, int n, int width) { return range_of(costs, m, 0, n, width); }

Least row_least(const float* row, const float* shift, int width) {
  const float value = minimum_of_row(row, shift, width);
  if (!(value < std::numeric_limits<float>::infinity())) return {value, -1};
  return {value, place_in_row(row, shift, width, value)};
}

TwoLeast row_two_least(const float* row, const float* shift, int width) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Lanes cost, price, larger, first, second;
  fill_lanes(first, infinity);
  fill_lanes(second, infinity);
  for (int j = 0; j < width; j += lane_count) {
    load(cost, row + j);
    load(price, shift + j);
    larger = cost = cost - price;
    keep_higher(larger, first);
    keep_lower(second, larger);
    keep_lower(first, cost);
  }
  const float value = least_lane(first);
  if (!(value < infinity)) return {value, -1, infinity};
  const int index = place_in_row(row, shift, width, value);
  lane(first, index % lane_count) = lane(second, index % lane_count);  // in the winner's lane the runner-up counts
  return {value, index, least_lane(first)};
}

void lower_columns(float* out, const float* row, float shift, int width) {
  for (int j = 0; j < width; ++j) {
    const float value = row[j] - shift;
    out[j] = value < out[j] ? value : out[j];
  }
}

}  // namespace wordferry
