#include "cost_rows.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "cpu.hpp"
#include "cost_rows_inline.hpp"

namespace wordferry {

namespace {

constexpr int kFloatLanes = 16;
constexpr int kTogether = 4;  // query vectors compared with one word at a time

}  // namespace

WF_CLONES double row_minimum(const double* row, const double* shift, int width) {
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
}

WF_CLONES Range cost_range(const double* costs, int m, int n, int width) {
  RowLanes cost, low, high, odd;
  for (int k = 0; k < kRowLanes; ++k) {
    low[k] = high[k] = costs[0];
    odd[k] = 0;
  }
  Range range{costs[0], costs[0], true};
  double rest = 0;  // this and `odd` become NaN once a value is not finite
  for (int i = 0; i < m; ++i) {
    const double* row = costs + static_cast<std::ptrdiff_t>(i) * width;
    int j = 0;
    for (; j + kRowLanes <= n; j += kRowLanes) {
      WF_LOAD(cost, row + j);
      low = cost < low ? cost : low;
      high = cost > high ? cost : high;
      odd += cost * 0.0;
    }
    for (; j < n; ++j) {
      range.low = row[j] < range.low ? row[j] : range.low;
      range.high = row[j] > range.high ? row[j] : range.high;
      rest += row[j] * 0.0;
    }
  }
  for (int k = 0; k < kRowLanes; ++k) {
    range.low = low[k] < range.low ? low[k] : range.low;
    range.high = high[k] > range.high ? high[k] : range.high;
    rest += odd[k];
  }
  range.finite = rest == 0;
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

WF_CLONES void word_distances(const float* query, int queries, const float* vectors, std::ptrdiff_t words,
                              int dimensions, float* out, std::ptrdiff_t stride) {
  const int whole = dimensions / kFloatLanes * kFloatLanes;
  for (std::ptrdiff_t w = 0; w < words; ++w) {
    const float* y = vectors + w * dimensions;
    for (int first = 0; first < queries; first += kTogether) {
      const int count = queries - first < kTogether ? queries - first : kTogether;
      const float* x[kTogether];
      for (int q = 0; q < kTogether; ++q) {
        x[q] = query + static_cast<std::ptrdiff_t>(first + (q < count ? q : 0)) * dimensions;
      }
      float sum[kTogether][kFloatLanes] = {};
      for (int d = 0; d < whole; d += kFloatLanes) {
        for (int q = 0; q < kTogether; ++q) {
          for (int k = 0; k < kFloatLanes; ++k) {
            const float difference = x[q][d + k] - y[d + k];
            sum[q][k] += difference * difference;
          }
        }
      }
      for (int q = 0; q < count; ++q) {
        float rest = 0;
        for (int d = whole; d < dimensions; ++d) rest += (x[q][d] - y[d]) * (x[q][d] - y[d]);
        for (int half = kFloatLanes / 2; half > 0; half /= 2) {
          for (int k = 0; k < half; ++k) sum[q][k] += sum[q][k + half];
        }
        out[(first + q) * stride + w] = std::sqrt(sum[q][0] + rest);
      }
    }
  }
}

}  // namespace wordferry
