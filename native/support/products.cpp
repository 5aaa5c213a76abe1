#include "support/products.hpp"

#include "support/compiler.hpp"
#include "support/cpu.hpp"

namespace wordferry {

namespace {

template <int Rows>
WF_ALWAYS_INLINE void products_of(const float* const* rows, std::int64_t dimensions, const Lanes* columns, float* out,
                                  std::int64_t stride) {
  const float* row[Rows];
  Lanes sums[Rows];
  for (int r = 0; r < Rows; ++r) {
    row[r] = rows[r];
    fill_lanes(sums[r], 0.0F);
  }
  for (std::int64_t k = 0; k < dimensions; ++k) {
    for (int r = 0; r < Rows; ++r) add_scaled(sums[r], row[r][k], columns[k]);
  }
  for (int r = 0; r < Rows; ++r) store(out + r * stride, sums[r]);
}

}  // namespace

WF_CLONES void products_of_rows(const float* const* rows, std::int64_t count, std::int64_t dimensions,
                                const Lanes* columns, std::int64_t sixteen, float* out, std::int64_t stride) {
  constexpr std::int64_t ahead = rows_ahead - tile_rows;
  const std::int64_t bytes = dimensions * static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t p = 0; p < sixteen; ++p, columns += dimensions, out += lane_count) {
    std::int64_t i = 0;
    for (; i + tile_rows <= count; i += tile_rows) {
      for (std::int64_t next = i + ahead; p == 0 && next < i + ahead + tile_rows; ++next) {
        const char* from = reinterpret_cast<const char*>(rows[next]);
        for (std::int64_t k = 0; k < bytes; k += 64) prefetch_line(from + k);
      }
      products_of<tile_rows>(rows + i, dimensions, columns, out + i * stride, stride);
    }
    for (; i < count; ++i) products_of<1>(rows + i, dimensions, columns, out + i * stride, stride);
  }
}

WF_CLONES double squared_length(const float* vector, std::int64_t dimensions) {
  constexpr std::int64_t width = 8;
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

}  // namespace wordferry
