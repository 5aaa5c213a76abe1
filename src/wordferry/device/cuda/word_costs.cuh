// Distances of words from inner products: with the order of sums and the rounding of the CPU, so that costs have its
// bits, or from a matrix product.
#pragma once

#include "lanes.cuh"

namespace wordferry {

constexpr int cost_rows = 32;    // a warp computes 32 x 32 distances
constexpr int cost_steps = 32;   // dimensions that are loaded at a time
constexpr int cost_stride = 36;  // of a vector in shared memory: four at a time without conflicts of banks
// Pairs closer than this, as a share of their squared lengths, lose digits in |x|^2 + |y|^2 - 2xy: their distance is
// computed from differences instead. The CPU has the same share.
constexpr float cancellation = 1.0f / 16;

struct Vectors {
  const float* values;
  const float* squares;  // of their lengths
  Index dimensions;
};

// The squared distance from differences, in the four sums that the CPU has.
WF_DEVICE double exact_square(const float* a, const float* b, Index dimensions) {
  double sums[4] = {};
  for (Index k = 0; k < dimensions; k += 4) {
    WF_UNROLL
    for (int s = 0; s < 4; ++s) {
      const Index here = k + s < dimensions ? k + s : k;
      const double difference = static_cast<double>(a[here]) - static_cast<double>(b[here]);
      if (here == k + s) sums[s] = unfused(difference, difference, sums[s]);
    }
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

WF_DEVICE float distance_by_product(float product, const Vectors& a, Index i, const Vectors& b, Index j) {
  const float both = a.squares[i] + b.squares[j];
  float square = both - 2.0f * product;
  if (square < cancellation * both) {
    square = static_cast<float>(exact_square(a.values + i * a.dimensions, b.values + j * a.dimensions, a.dimensions));
  }
  return root(square);
}

// Some vectors of a set: those of `numbers` (-1: none), or all, in order, where it is null.
struct Chosen {
  Vectors vectors;
  const int* numbers;
  Index count;
};

WF_DEVICE Index number_of(const Chosen& some, Index place) {
  if (place >= some.count) return -1;
  return some.numbers == nullptr ? place : some.numbers[place];
}

// Loads some dimensions of 32 vectors into shared memory, zeros where there are none; eight are under way at a time.
WF_DEVICE void load_vectors(float* to, const Vectors& vectors, Lanes<Index>& numbers, int low) {
  const int dimensions = static_cast<int>(vectors.dimensions);
  for (int first = 0; first < cost_rows; first += 8) {
    LaneArray<float, 8> loaded;
    WF_UNROLL
    for (int r = 0; r < 8; ++r) {
      const Index number = warp_from(numbers, first + r);
      WF_LANES(lane) {
        const bool there = number >= 0 && low + lane < dimensions;
        loaded(lane, r) = there ? vectors.values[number * dimensions + low + lane] : 0.0f;
      }
    }
    WF_LANES(lane) {
      WF_UNROLL
      for (int r = 0; r < 8; ++r) to[(first + r) * cost_stride + lane] = loaded(lane, r);
    }
  }
}

// Inner products of 32 vectors of a with 32 of b, one for each lane, summed up in the order of the dimensions.
WF_DEVICE void tile_products(const Chosen& a, Index first, const Chosen& b, Index left, float* memory,
                             LaneArray<float, cost_rows>& sum) {
  float* of_a = memory;
  float* of_b = of_a + cost_rows * cost_stride;
  Lanes<Index> rows, columns;
  WF_LANES(lane) {
    rows[lane] = number_of(a, first + lane);
    columns[lane] = number_of(b, left + lane);
    WF_UNROLL
    for (int r = 0; r < cost_rows; ++r) sum(lane, r) = 0;
  }
  for (int low = 0; low < static_cast<int>(a.vectors.dimensions); low += cost_steps) {
    load_vectors(of_a, a.vectors, rows, low);
    load_vectors(of_b, b.vectors, columns, low);
    WF_FENCE();
    WF_LANES(lane) {
      for (int k = 0; k < cost_steps; k += 4) {  // zeros behind the last dimension add nothing
        const Four y = *reinterpret_cast<const Four*>(of_b + lane * cost_stride + k);
        WF_UNROLL
        for (int r = 0; r < cost_rows; ++r) {
          const Four x = *reinterpret_cast<const Four*>(of_a + r * cost_stride + k);
          WF_UNROLL
          for (int d = 0; d < 4; ++d) sum(lane, r) = fused(x.value[d], y.value[d], sum(lane, r));
        }
      }
    }
    WF_FENCE();
  }
}

}  // namespace wordferry

// out[i, j] = |a_i - b_j|, with the bits of the CPU: products are summed up in the order of the dimensions.
WF_KERNEL(word_costs)
(const float* a_values, const float* a_squares, wordferry::Index rows, const float* b_values, const float* b_squares,
 wordferry::Index columns, wordferry::Index dimensions, float* out, wordferry::Index stride) {
  using namespace wordferry;
  const Vectors a{a_values, a_squares, dimensions}, b{b_values, b_squares, dimensions};
  const Index across = (columns + 31) / 32;
  const Index first = block_number() / across * cost_rows, left = block_number() % across * 32;
  WF_WARPS(warp) {
    static_cast<void>(warp);
    LaneArray<float, cost_rows> sum;
    tile_products({a, nullptr, rows}, first, {b, nullptr, columns}, left, reinterpret_cast<float*>(shared_memory()),
                  sum);
    WF_LANES(lane) {
      const Index j = left + lane;
      WF_UNROLL
      for (int r = 0; r < cost_rows; ++r) {
        if (first + r < rows && j < columns) {
          out[(first + r) * stride + j] = distance_by_product(sum(lane, r), a, first + r, b, j);
        }
      }
    }
  }
}

// Distances from products of a library, which sums them up in another order. own[j] is the vector of a that is of the
// same word as that of b, or -1: nothing moves from a word onto itself.
WF_KERNEL(product_costs)
(const float* products, const float* a_values, const float* a_squares, wordferry::Index rows, const float* b_values,
 const float* b_squares, const int* own, wordferry::Index columns, wordferry::Index dimensions, float* out,
 wordferry::Index stride) {
  using namespace wordferry;
  const Vectors a{a_values, a_squares, dimensions}, b{b_values, b_squares, dimensions};
  WF_WARPS(warp) {
    const Index i = block_number() * warp_total() + warp;
    WF_LANES(lane) {
      for (Index j = lane; i < rows && j < columns; j += 32) {
        out[i * stride + j] = own[j] == i ? no_cost : distance_by_product(products[i * columns + j], a, i, b, j);
      }
    }
  }
}
