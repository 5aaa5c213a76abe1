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

WF_CLONES double row_minimum(const double* row, const double* shift, int width) {
#if defined(WF_VECTORS)
  RowLanes cost, price, least;
  WF_LOAD(cost, row);
  WF_LOAD(price, shift);
  least = cost - price;
  for (int j = kRowLanes; j < width; j += kRowLanes) {
    WF_LOAD(cost, row + j);
    WF_LOAD(price, shift + j);
    cost -= price;
    least = cost < least ? cost : least;
  }
  double lane[kRowLanes];
  WF_STORE(lane, least);
  return fold(lane);
#else
  double least = row[0] - shift[0];
  for (int j = 1; j < width; ++j) least = row[j] - shift[j] < least ? row[j] - shift[j] : least;
  return least;
#endif
}

WF_CLONES Range cost_range(const double* costs, int m, int n, int width) {
  Range range{costs[0], costs[0], true};
  double odd = 0;  // becomes NaN once a value is not finite
#if defined(WF_VECTORS)
  const int whole = n / kRowLanes * kRowLanes;
  RowLanes cost, low, high, odd_lanes = {};
  for (int k = 0; k < kRowLanes; ++k) low[k] = high[k] = costs[0];
  for (int i = 0; i < m; ++i) {
    const double* row = costs + static_cast<std::ptrdiff_t>(i) * width;
    for (int j = 0; j < whole; j += kRowLanes) {
      WF_LOAD(cost, row + j);
      low = cost < low ? cost : low;
      high = cost > high ? cost : high;
      odd_lanes += cost * 0.0;
    }
  }
  for (int k = 0; k < kRowLanes; ++k) {
    range.low = low[k] < range.low ? low[k] : range.low;
    range.high = high[k] > range.high ? high[k] : range.high;
    odd += odd_lanes[k];
  }
#else
  const int whole = 0;
#endif
  for (int i = 0; i < m; ++i) {
    const double* row = costs + static_cast<std::ptrdiff_t>(i) * width;
    for (int j = whole; j < n; ++j) {
      range.low = row[j] < range.low ? row[j] : range.low;
      range.high = row[j] > range.high ? row[j] : range.high;
      odd += row[j] * 0.0;
    }
  }
  range.finite = odd == 0;
  return range;
}

WF_CLONES Least row_least(const double* row, const double* shift, int width) {
  return least_of_row(row, shift, width, std::numeric_limits<double>::infinity());
}

WF_CLONES void lower_columns(double* out, const double* row, double shift, int width) {
  for (int j = 0; j < width; ++j) {
    const double value = row[j] - shift;
    out[j] = value < out[j] ? value : out[j];
  }
}

// Squared distances of `kQueries` query vectors to `kWords` words; `dimensions` is a multiple of kFloatLanes.
template <int kQueries, int kWords>
WF_ALWAYS_INLINE void square_tile(const float* query, const float* word, int dimensions, float* out,
                                                       std::ptrdiff_t stride) {
#if defined(WF_VECTORS)
  typedef float Lanes __attribute__((vector_size(sizeof(float) * kFloatLanes)));
  Lanes sum[kQueries][kWords] = {}, x, y[kWords];
  for (int d = 0; d < dimensions; d += kFloatLanes) {
    for (int w = 0; w < kWords; ++w) WF_LOAD(y[w], word + static_cast<std::ptrdiff_t>(w) * dimensions + d);
    for (int q = 0; q < kQueries; ++q) {
      WF_LOAD(x, query + static_cast<std::ptrdiff_t>(q) * dimensions + d);
      for (int w = 0; w < kWords; ++w) sum[q][w] += (x - y[w]) * (x - y[w]);
    }
  }
#else
  float sum[kQueries][kWords][kFloatLanes] = {};
  for (int d = 0; d < dimensions; ++d) {
    for (int q = 0; q < kQueries; ++q) {
      for (int w = 0; w < kWords; ++w) {
        const float difference = query[static_cast<std::ptrdiff_t>(q) * dimensions + d] -
                                 word[static_cast<std::ptrdiff_t>(w) * dimensions + d];
        sum[q][w][d % kFloatLanes] += difference * difference;
      }
    }
  }
#endif
  for (int q = 0; q < kQueries; ++q) {
    for (int w = 0; w < kWords; ++w) {
      float lane[kFloatLanes];
      std::memcpy(lane, &sum[q][w], sizeof lane);
      out[q * stride + w] = add_up<kFloatLanes>(lane);
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
