#include "support/word_distances.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "support/at.hpp"
#include "support/bind.hpp"
#include "support/compiler.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t rows_a_task = 16 * product_rows,
                       columns_a_task = 32 * lane_width;  // what a thread takes at once
constexpr std::int64_t product_columns = 8 * lane_width;  // columns whose products are held at a time

// One tile: `Rows` rows with `Sixteens` times sixteen columns, the step for all of them written out so that the sums
// stay in registers. `next` is how far the columns of one sixteen are from those of the next.
template <int Rows, int Sixteens, int tile = 0>
WF_ALWAYS_INLINE void add_products(FusedSums* sums, const float* const* rows, std::int64_t k, const float* columns,
                                   std::int64_t next) {
  if constexpr (tile < Rows * Sixteens) {
    fused(sums[tile], rows[tile / Sixteens][k], columns + tile % Sixteens * next);
    add_products<Rows, Sixteens, tile + 1>(sums, rows, k, columns, next);
  }
}

template <int Rows, int Sixteens>
void products_of(const float* const* rows, std::int64_t dimensions, const float* columns, float* out,
                 std::int64_t stride) {
  const float* row[Rows];
  FusedSums sums[Rows * Sixteens] = {};
  std::copy_n(rows, Rows, row);
  for (std::int64_t k = 0; k < dimensions; ++k) {
    add_products<Rows, Sixteens>(sums, row, k, columns + k * lane_width, dimensions * lane_width);
  }
  for (int r = 0; r < Rows; ++r) std::memcpy(out + r * stride, sums + r * Sixteens, Sixteens * sizeof sums[0]);
}

// The rows behind the last whole tile, in a tile of their number: one row at a time would wait for each sum.
template <int Sixteens, int Rows = tile_rows - 1>
void products_of_rest(const float* const* rows, std::int64_t count, std::int64_t dimensions, const float* columns,
                      float* out, std::int64_t stride) {
  if constexpr (Rows > 0) {
    if (count < Rows) return products_of_rest<Sixteens, Rows - 1>(rows, count, dimensions, columns, out, stride);
    products_of<Rows, Sixteens>(rows, dimensions, columns, out, stride);
  }
}

// values[j] = the squared distance; returns whether one of them is so small that it must be computed again.
bool squared_row(float* values, std::int64_t columns, float square, const float* squares) {
  int lost = 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    const float both = square + squares[j];
    const float value = both - 2.0F * values[j];
    lost |= value < cancellation * both;
    values[j] = value;
  }
  return lost != 0;
}

void root_row(const float* squares, std::int64_t columns, float* out) {
  for (std::int64_t j = 0; j < columns; ++j) out[j] = std::sqrt(squares[j] < 0.0F ? 0.0F : squares[j]);
}

// Sixteen vectors as columns.
void pack_sixteen(const float* const* vectors, std::int64_t dimensions, Lanes* out) {
  std::int64_t k = 0;
  for (; k + lane_width <= dimensions; k += lane_width) {
    Lanes row[lane_count];
    for (int i = 0; i < lane_count; ++i) load(row[i], vectors[i] + k);
    transpose(row);
    for (int i = 0; i < lane_count; ++i) out[k + i] = row[i];
  }
  for (; k < dimensions; ++k) {
    for (int i = 0; i < lane_count; ++i) lane(out[k], i) = vectors[i][k];
  }
}

}  // namespace

LaneArray sixteens(const float* const* vectors, std::int64_t count, std::int64_t dimensions) {
  LaneArray packed(at((count + lane_width - 1) / lane_width * dimensions));
  const std::vector<float> zeros(at(count % lane_width == 0 ? 0 : dimensions), 0.0F);
  for (std::int64_t j = 0; j < count; j += lane_width) {
    const float* some[lane_count];
    for (std::int64_t i = 0; i < lane_width; ++i) some[i] = j + i < count ? vectors[j + i] : zeros.data();
    pack_sixteen(some, dimensions, packed.data() + j / lane_width * dimensions);
  }
  return packed;
}

void products_of_rows(const float* const* rows, std::int64_t count, std::int64_t dimensions, const Lanes* columns,
                      std::int64_t sixteen, float* out, std::int64_t stride) {
  constexpr std::int64_t ahead = rows_ahead - tile_rows;
  const std::int64_t bytes = dimensions * static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t p = 0; p < sixteen; p += 2, columns += 2 * dimensions, out += 2 * lane_count) {
    const float* const column = reinterpret_cast<const float*>(columns);
    const auto tile = p + 1 == sixteen ? products_of<tile_rows, 1> : products_of<tile_rows, 2>;
    const auto rest = p + 1 == sixteen ? products_of_rest<1> : products_of_rest<2>;
    std::int64_t i = 0;
    for (; i + tile_rows <= count; i += tile_rows) {
      for (std::int64_t next = i + ahead; p == 0 && next < i + ahead + tile_rows; ++next) {
        const char* from = reinterpret_cast<const char*>(rows[next]);
        for (std::int64_t k = 0; k < bytes; k += 64) prefetch_line(from + k);
      }
      tile(rows + i, dimensions, column, out + i * stride, stride);
    }
    rest(rows + i, count - i, dimensions, column, out + i * stride, stride);
  }
}

double squared_length(const float* vector, std::int64_t dimensions) {
  constexpr std::int64_t width = 16;
  double sums[width] = {};
  std::int64_t k = 0;
  for (; k + width <= dimensions; k += width) {
    for (std::int64_t l = 0; l < width; ++l) {
      const double value = static_cast<double>(vector[k + l]);
      sums[l] += value * value;
    }
  }
  for (; k < dimensions; ++k) sums[k % width] += static_cast<double>(vector[k]) * static_cast<double>(vector[k]);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

double exact_square(const float* a, const float* b, std::int64_t dimensions) {
  double sums[4] = {};
  std::int64_t start = 0;
  for (; start + 4 <= dimensions; start += 4) {
    for (std::int64_t lane = 0; lane < 4; ++lane) {
      const double difference = static_cast<double>(a[start + lane]) - static_cast<double>(b[start + lane]);
      sums[lane] += difference * difference;
    }
  }
  for (std::int64_t k = start; k < dimensions; ++k) {
    const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    sums[k - start] += difference * difference;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void squared_lengths(const VectorRows& a, float* out, Watch& watch) {
  Pace pace(watch);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    pace.spend(a.dimensions);
    out[i] = static_cast<float>(squared_length(a.row(i), a.dimensions));
  }
}

void word_distances(const VectorRows& a, const float* a_squares, const VectorRows& b, const float* b_squares,
                    float* out, std::int64_t stride, int threads, Watch& watch) {
  const std::int64_t d = a.dimensions, pieces = (b.rows + columns_a_task - 1) / columns_a_task;
  const auto finish_row = [&](float* products, std::int64_t i, std::int64_t j, std::int64_t count, Pace& pace) {
    if (squared_row(products, count, a_squares[i], b_squares + j)) {
      for (std::int64_t k = 0; k < count; ++k) {
        if (!(products[k] < cancellation * (a_squares[i] + b_squares[j + k]))) continue;
        pace.spend(d);
        products[k] = static_cast<float>(exact_square(a.row(i), b.row(j + k), d));
      }
    }
    root_row(products, count, out + i * stride + j);
  };
  const auto body = [&](std::int64_t block, int) {
    Pace pace(watch);
    const std::int64_t first = block / pieces * rows_a_task, stop = std::min(first + rows_a_task, a.rows);
    const std::int64_t low = block % pieces * columns_a_task, high = std::min(low + columns_a_task, b.rows);
    const float* vectors[columns_a_task];
    for (std::int64_t j = low; j < high; ++j) vectors[j - low] = b.row(j);
    LaneArray columns = sixteens(vectors, high - low, d);
    const float* rows[product_rows + rows_ahead];
    float products[product_rows * product_columns];
    for (std::int64_t top = first; top < stop; top += product_rows) {
      const std::int64_t count = std::min(product_rows, stop - top);
      for (std::int64_t i = 0; i < product_rows + rows_ahead; ++i) rows[i] = a.row(std::min(top + i, a.rows - 1));
      for (std::int64_t j = low; j < high; j += product_columns) {
        const std::int64_t here = std::min(product_columns, high - j), sixteen = (here + lane_width - 1) / lane_width;
        pace.spend(count * sixteen * d);
        products_of_rows(rows, count, d, columns.data() + (j - low) / lane_width * d, sixteen, products,
                         product_columns);
        for (std::int64_t i = 0; i < count; ++i) finish_row(products + i * product_columns, top + i, j, here, pace);
      }
    }
  };
  for_blocks((a.rows + rows_a_task - 1) / rows_a_task * pieces, threads, body, watch);
}

namespace {

VectorRows vectors_of(const In<float, 2>& values) { return {values.data(), values.length(), values.length(1)}; }

Made<float> lengths(const In<float, 2>& vectors) {
  auto out = make_array(0.0f, vectors.length());
  run_native([&](Watch& watch) { squared_lengths(vectors_of(vectors), out.data(), watch); });
  return out;
}

void distances_of_words(const In<float, 2>& a, const In<float>& a_squares, const In<float, 2>& b,
                        const In<float>& b_squares, const Matrix& out, int threads) {
  require(a.length(1) == b.length(1), "vectors must have the same dimensions");
  require(a.length() == a_squares.length() && b.length() == b_squares.length(), "one square for each vector");
  require(out.length() == a.length() && out.length(1) == b.length(), "out has another shape than the vectors");
  const std::int64_t stride = row_stride(out);
  run_native([&](Watch& watch) {
    word_distances(vectors_of(a), a_squares.data(), vectors_of(b), b_squares.data(), out.data(), stride,
                   thread_limit(threads), watch);
  });
}

}  // namespace

void bind_word_distances(nb::module_& m) {
  m.def("squared_lengths", &lengths, "vectors"_in, "Squared lengths of vectors.");
  m.def("word_distances", &distances_of_words, "a"_in, "a_squares"_in, "b"_in, "b_squares"_in, "out"_in, "threads"_a);
}

}  // namespace wordferry
