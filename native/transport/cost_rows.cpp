#include "transport/cost_rows.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/cpu.hpp"
#include "transport/cost_rows_inline.hpp"

namespace wordferry {

namespace {

constexpr int dimensions_at_once = 64;

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

WF_CLONES float row_minimum(const float* row, const float* shift, int width) {
  return minimum_of_row(row, shift, width);
}

WF_CLONES Range cost_range(const float* costs, int m, int n, int width) { return range_of(costs, m, n, width); }

WF_CLONES Range cost_range(const double* costs, int m, int n, int width) { return range_of(costs, m, n, width); }

WF_CLONES Least row_least(const float* row, const float* shift, int width) {
  const float value = minimum_of_row(row, shift, width);
  if (!(value < std::numeric_limits<float>::infinity())) return {value, -1};
  return {value, place_in_row(row, shift, width, value)};
}

WF_CLONES TwoLeast row_two_least(const float* row, const float* shift, int width) {
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

WF_CLONES void lower_columns(float* out, const float* row, float shift, int width) {
  for (int j = 0; j < width; ++j) {
    const float value = row[j] - shift;
    out[j] = value < out[j] ? value : out[j];
  }
}

namespace {

// Distances of `Queries` query vectors to the words of a panel, in which the words' first coordinates lie together,
// then their second, and so on. Squares are added up a few dimensions at a time, so that sums stay precise.
template <int Queries, int Blocks>
WF_ALWAYS_INLINE void panel_distances(const float* query, const float* panel, int dimensions, float* out,
                                      std::ptrdiff_t stride, int words) {
  constexpr int width = Blocks * lane_count;
  float total[Queries][width] = {};
  for (int low = 0; low < dimensions; low += dimensions_at_once) {
    const int high = dimensions - low < dimensions_at_once ? dimensions : low + dimensions_at_once;
#if defined(WF_VECTORS)
    Lanes sum[Queries][Blocks] = {}, word[Blocks], all;
    for (int d = low; d < high; ++d) {
      for (int b = 0; b < Blocks; ++b) load(word[b], panel + static_cast<std::ptrdiff_t>(d) * width + b * lane_count);
      for (int q = 0; q < Queries; ++q) {
        const float x = query[static_cast<std::ptrdiff_t>(q) * dimensions + d];
        for (int b = 0; b < Blocks; ++b) sum[q][b] += (word[b] - x) * (word[b] - x);
      }
    }
    for (int q = 0; q < Queries; ++q) {
      for (int b = 0; b < Blocks; ++b) {
        load(all, total[q] + b * lane_count);
        all += sum[q][b];
        store(total[q] + b * lane_count, all);
      }
    }
#else
    for (int q = 0; q < Queries; ++q) {
      float sum[width] = {};
      for (int d = low; d < high; ++d) {
        const float x = query[static_cast<std::ptrdiff_t>(q) * dimensions + d];
        const float* word = panel + static_cast<std::ptrdiff_t>(d) * width;
        for (int w = 0; w < width; ++w) sum[w] += (word[w] - x) * (word[w] - x);
      }
      for (int w = 0; w < width; ++w) total[q][w] += sum[w];
    }
#endif
  }
  for (int q = 0; q < Queries; ++q) {
    for (int w = 0; w < width; ++w) total[q][w] = std::sqrt(total[q][w]);
    std::memcpy(out + q * stride, total[q], static_cast<std::size_t>(words) * sizeof(float));
  }
}

template <int Blocks>
WF_ALWAYS_INLINE void panel_rows(const float* query, int queries, const float* panel, int dimensions, float* out,
                                 std::ptrdiff_t stride, int words) {
  for (; queries >= 4; queries -= 4, query += 4 * static_cast<std::ptrdiff_t>(dimensions), out += 4 * stride) {
    panel_distances<4, Blocks>(query, panel, dimensions, out, stride, words);
  }
  if (queries == 3) panel_distances<3, Blocks>(query, panel, dimensions, out, stride, words);
  if (queries == 2) panel_distances<2, Blocks>(query, panel, dimensions, out, stride, words);
  if (queries == 1) panel_distances<1, Blocks>(query, panel, dimensions, out, stride, words);
}

#if defined(WF_VECTORS)
// Blocks of Step lanes change places between two rows.
template <int Step, int... k>
WF_ALWAYS_INLINE void exchange(Lanes& a, Lanes& b, std::integer_sequence<int, k...>) {
  const Lanes low = __builtin_shufflevector(a, b, ((k & Step) != 0 ? lane_count + k - Step : k)...);
  b = __builtin_shufflevector(a, b, ((k & Step) != 0 ? lane_count + k : k + Step)...);
  a = low;
}

template <int Step>
WF_ALWAYS_INLINE void exchange_all(Lanes* row) {
  for (int k = 0; k < lane_count; ++k) {
    if ((k & Step) == 0) exchange<Step>(row[k], row[k + Step], std::make_integer_sequence<int, lane_count>{});
  }
}

// lane_count rows of lane_count floats, turned into columns.
WF_ALWAYS_INLINE void transpose(const float* from, std::ptrdiff_t from_stride, float* to, std::ptrdiff_t to_stride) {
  Lanes row[lane_count];
  for (int k = 0; k < lane_count; ++k) load(row[k], from + k * from_stride);
  exchange_all<1>(row);
  exchange_all<2>(row);
  exchange_all<4>(row);
  exchange_all<8>(row);
  for (int k = 0; k < lane_count; ++k) store(to + k * to_stride, row[k]);
}
#endif

// The words' vectors as a panel of `width` words, filled up with zeros.
WF_ALWAYS_INLINE void fill_panel(const float* vectors, int words, int dimensions, int width, float* panel) {
  for (int first = 0; first < width; first += lane_count) {
    const float* from = vectors + static_cast<std::ptrdiff_t>(first) * dimensions;
    const int here = words - first < lane_count ? words - first : lane_count;
    int done = 0;  // dimensions
#if defined(WF_VECTORS)
    for (; here == lane_count && done + lane_count <= dimensions; done += lane_count) {
      transpose(from + done, dimensions, panel + static_cast<std::ptrdiff_t>(done) * width + first, width);
    }
#endif
    for (; done < dimensions; ++done) {
      float* to = panel + static_cast<std::ptrdiff_t>(done) * width + first;
      for (int w = 0; w < lane_count; ++w) to[w] = w < here ? from[static_cast<std::ptrdiff_t>(w) * dimensions + done] : 0;
    }
  }
}

}  // namespace

WF_CLONES void word_distances(const float* query, int queries, const float* vectors, std::ptrdiff_t words,
                              int dimensions, float* out, std::ptrdiff_t stride, Pace& pace) {
  constexpr int most = 2 * lane_count;
  std::vector<float> panel(static_cast<std::size_t>(dimensions) * most);
  for (std::ptrdiff_t low = 0; low < words; low += most) {
    const int count = static_cast<int>(words - low < most ? words - low : most), width = padded(count);
    pace.spend(std::int64_t{queries} * dimensions * (most / lane_count));
    fill_panel(vectors + low * dimensions, count, dimensions, width, panel.data());
    if (width == most) {
      panel_rows<2>(query, queries, panel.data(), dimensions, out + low, stride, count);
    } else {
      panel_rows<1>(query, queries, panel.data(), dimensions, out + low, stride, count);
    }
  }
}

}  // namespace wordferry
