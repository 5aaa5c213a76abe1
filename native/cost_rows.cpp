#include "cost_rows.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "cpu.hpp"
#include "cost_rows_inline.hpp"

namespace wordferry {

namespace {

constexpr std::ptrdiff_t kWordsAtOnce = 32;

// The sum of `count` values, a power of two, by halves.
template <int count>
WF_ALWAYS_INLINE float add_up(const float* lane) {
  if constexpr (count == 1) {
    return lane[0];
  } else {
    float half[count / 2];
    for (int k = 0; k < count / 2; ++k) half[k] = lane[k] + lane[k + count / 2];
    return add_up<count / 2>(half);
  }
}

}  // namespace

namespace {

template <class Cost>
WF_ALWAYS_INLINE Range range_of(const Cost* costs, int m, int n, int width) {
  Cost low = costs[0], high = costs[0], odd = 0;  // odd becomes NaN once a value is not finite
#if defined(WF_VECTORS)
  constexpr int lanes = 64 / sizeof(Cost);
  typedef Cost Lanes __attribute__((vector_size(sizeof(Cost) * lanes)));
  const int whole = n / lanes * lanes;
  Lanes cost, lows = Lanes{} + costs[0], highs = lows, odds = {};
  for (int i = 0; i < m; ++i) {
    const Cost* row = costs + static_cast<std::ptrdiff_t>(i) * width;
    for (int j = 0; j < whole; j += lanes) {
      WF_LOAD(cost, row + j);
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

WF_CLONES float row_minimum(const float* row, const float* shift, int width) {
  return minimum_of_row(row, shift, width);
}

WF_CLONES double row_minimum(const float* row, const double* shift, int width) {
  return minimum_of_row(row, shift, width);
}

WF_CLONES double row_minimum(const double* row, const double* shift, int width) {
  return minimum_of_row(row, shift, width);
}

WF_CLONES Range cost_range(const float* costs, int m, int n, int width) { return range_of(costs, m, n, width); }

WF_CLONES Range cost_range(const double* costs, int m, int n, int width) { return range_of(costs, m, n, width); }

WF_CLONES Least<float> row_least(const float* row, const float* shift, int width) {
  const float value = minimum_of_row(row, shift, width);
  if (!(value < std::numeric_limits<float>::infinity())) return {value, -1};
  return {value, place_in_row(row, shift, width, value)};
}

WF_CLONES TwoLeast row_two_least(const float* row, const float* shift, int width) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
#if defined(WF_VECTORS)
  FloatLanes cost, price, first = FloatLanes{} + infinity, second = first;
  for (int j = 0; j < width; j += kLanes) {
    WF_LOAD(cost, row + j);
    WF_LOAD(price, shift + j);
    cost -= price;
    const FloatLanes larger = cost < first ? first : cost;
    second = larger < second ? larger : second;
    first = cost < first ? cost : first;
  }
  const float value = least_of_16<float>(first);
  if (!(value < infinity)) return {value, -1, infinity};
  const int index = place_in_row(row, shift, width, value);
  NumberLanes lane;
  for (int k = 0; k < kLanes; ++k) lane[k] = k;
  const FloatLanes others = lane == index % kLanes ? second : first;  // in the winner's lane the runner-up counts
  return {value, index, least_of_16<float>(others)};
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

WF_CLONES void lower_columns(float* out, const float* row, float shift, int width) {
  for (int j = 0; j < width; ++j) {
    const float value = row[j] - shift;
    out[j] = value < out[j] ? value : out[j];
  }
}

// Squared distances of `kQueries` query vectors to `kWords` words; `dimensions` is a multiple of kLanes.
template <int kQueries, int kWords>
WF_ALWAYS_INLINE void square_tile(const float* query, const float* word, int dimensions, float* out,
                                                       std::ptrdiff_t stride) {
#if defined(WF_VECTORS)
  FloatLanes sum[kQueries][kWords] = {}, x, y[kWords];
  for (int d = 0; d < dimensions; d += kLanes) {
    for (int w = 0; w < kWords; ++w) WF_LOAD(y[w], word + static_cast<std::ptrdiff_t>(w) * dimensions + d);
    for (int q = 0; q < kQueries; ++q) {
      WF_LOAD(x, query + static_cast<std::ptrdiff_t>(q) * dimensions + d);
      for (int w = 0; w < kWords; ++w) sum[q][w] += (x - y[w]) * (x - y[w]);
    }
  }
#else
  float sum[kQueries][kWords][kLanes] = {};
  for (int d = 0; d < dimensions; ++d) {
    for (int q = 0; q < kQueries; ++q) {
      for (int w = 0; w < kWords; ++w) {
        const float difference = query[static_cast<std::ptrdiff_t>(q) * dimensions + d] -
                                 word[static_cast<std::ptrdiff_t>(w) * dimensions + d];
        sum[q][w][d % kLanes] += difference * difference;
      }
    }
  }
#endif
  for (int q = 0; q < kQueries; ++q) {
    for (int w = 0; w < kWords; ++w) {
      float lane[kLanes];
      std::memcpy(lane, &sum[q][w], sizeof lane);
      out[q * stride + w] = add_up<kLanes>(lane);
    }
  }
}

template <int kQueries>
WF_ALWAYS_INLINE void square_rows(const float* query, const float* vectors, std::ptrdiff_t words,
                                                       int dimensions, float* out, std::ptrdiff_t stride) {
  std::ptrdiff_t w = 0;
  for (; w + 2 <= words; w += 2) square_tile<kQueries, 2>(query, vectors + w * dimensions, dimensions, out + w, stride);
  if (w < words) square_tile<kQueries, 1>(query, vectors + w * dimensions, dimensions, out + w, stride);
}

WF_CLONES void word_distances(const float* query, int queries, const float* vectors, std::ptrdiff_t words,
                              int dimensions, float* out, std::ptrdiff_t stride) {
  for (std::ptrdiff_t low = 0; low < words; low += kWordsAtOnce) {  // words that stay in the nearest cache
    const std::ptrdiff_t count = words - low < kWordsAtOnce ? words - low : kWordsAtOnce;
    const float* some = vectors + low * dimensions;
    int q = 0;
    for (; q + 4 <= queries; q += 4) {
      square_rows<4>(query + static_cast<std::ptrdiff_t>(q) * dimensions, some, count, dimensions,
                     out + q * stride + low, stride);
    }
    for (; q < queries; ++q) {
      square_rows<1>(query + static_cast<std::ptrdiff_t>(q) * dimensions, some, count, dimensions,
                     out + q * stride + low, stride);
    }
  }
  for (int q = 0; q < queries; ++q) {
    float* row = out + q * stride;
    for (std::ptrdiff_t w = 0; w < words; ++w) row[w] = std::sqrt(row[w]);
  }
}

}  // namespace wordferry
