#include "transport/cost_rows.hpp"

#include <limits>
#include <type_traits>

#include "transport/cost_rows_inline.hpp"

namespace wordferry {

namespace {

#if defined(WF_VECTORS)
struct HoldsLanes {  // a template takes no vector type as it is
  using Type = Lanes;
};
struct HoldsDoubles {
  using Type = DoubleLanes;
};
#endif

template <class Cost>
WF_ALWAYS_INLINE Range range_of(const Cost* costs, int m, int n, int width) {
  Cost low = costs[0], high = costs[0], odd = 0;  // odd becomes NaN once a value is not finite
#if defined(WF_VECTORS)
  using Block = std::conditional_t<sizeof(Cost) == sizeof(float), HoldsLanes, HoldsDoubles>;
  constexpr int lanes = 64 / sizeof(Cost);
  const int whole = n / lanes * lanes;
  typename Block::Type cost, lows = typename Block::Type{} + costs[0], highs = lows, odds = {};
  for (int i = 0; i < m; ++i) {
    const Cost* row = costs + static_cast<std::ptrdiff_t>(i) * width;
    for (int j = 0; j < whole; j += lanes) {
      load(cost, row + j);
      lows = cost < lows ? cost : lows;
      highs = cost > highs ? cost : highs;
      odds += cost * Cost{0};
    }
  }
  for (int k = 0; k < lanes; ++k) {
    low = lows[k] < low ? lows[k] : low;
    high = highs[k] > high ? highs[k] : high;
    odd += odds[k];
  }
#else
  const int whole = 0;
#endif
  for (int i = 0; i < m; ++i) {
    const Cost* row = costs + static_cast<std::ptrdiff_t>(i) * width;
    for (int j = whole; j < n; ++j) {
      low = row[j] < low ? row[j] : low;
      high = row[j] > high ? row[j] : high;
      odd += row[j] * Cost{0};
    }
  }
  return {low, high, odd == 0};
}

}  // namespace

float row_minimum(const float* row, const float* shift, int width) { return minimum_of_row(row, shift, width); }

Range cost_range(const float* costs, int m, int n, int width) { return range_of(costs, m, n, width); }

Range cost_range(const double* costs, int m, int n, int width) { return range_of(costs, m, n, width); }

Least row_least(const float* row, const float* shift, int width) {
  const float value = minimum_of_row(row, shift, width);
  if (!(value < std::numeric_limits<float>::infinity())) return {value, -1};
  return {value, place_in_row(row, shift, width, value)};
}

TwoLeast row_two_least(const float* row, const float* shift, int width) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
#if defined(WF_VECTORS)
  Lanes cost, price, first = Lanes{} + infinity, second = first;
  for (int j = 0; j < width; j += lane_count) {
    load(cost, row + j);
    load(price, shift + j);
    cost -= price;
    const Lanes larger = cost < first ? first : cost;
    second = larger < second ? larger : second;
    first = cost < first ? cost : first;
  }
  const float value = least_lane(first);
  if (!(value < infinity)) return {value, -1, infinity};
  const int index = place_in_row(row, shift, width, value);
  NumberLanes lane;
  for (int k = 0; k < lane_count; ++k) lane[k] = k;
  const Lanes others = lane == index % lane_count ? second : first;  // in the winner's lane the runner-up counts
  return {value, index, least_lane(others)};
#else
  TwoLeast least{infinity, -1, infinity};
  for (int j = 0; j < width; ++j) {
    const float value = row[j] - shift[j];
    if (value < least.value) {
      least = {value, j, least.value};
    } else if (value < least.second) {
      least.second = value;
    }
  }
  return least;
#endif
}

void lower_columns(float* out, const float* row, float shift, int width) {
  for (int j = 0; j < width; ++j) {
    const float value = row[j] - shift;
    out[j] = value < out[j] ? value : out[j];
  }
}

}  // namespace wordferry
