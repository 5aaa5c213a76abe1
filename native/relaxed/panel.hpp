// Sixteen documents at a time against all documents of the other side: the linear algorithm for sums over words.
#pragma once

#include <cstdint>

#include "support/csr.hpp"
#include "support/pool.hpp"

namespace wordferry {

// What a panel's table holds for a word w and the panel's document D.
enum class PanelKind : int {
  omr = 0,      // the cost of the nearest other word of D, and the mass of w in D: the sum of max(m - D_w, 0) * cost
  keep = 1,     // the cost of the nearest word of D, 0 for its own: the sum of m * cost
  product = 2,  // the mass of w in D: the sum of m * D_w
};

struct PanelJob {
  CsrF panel;  // the documents that are taken sixteen at a time
  CsrF pass;   // the documents that are passed over
  CsrF graph;  // costs of related words (not used by `product`)
  float rest;  // the cost of words that are not related; 0 for `product`
  PanelKind kind;
  float* out;  // see `transposed`
  std::int64_t stride;
  bool transposed;  // false: out[pass][panel]; true: out[panel][pass]
  bool combine;     // true: the larger of the value and what stands there
  bool lower;       // panel and pass are the same documents: only pass >= panel is wanted
  std::int64_t words;
};

// One term of equation (5) or (12) for all pairs, or the matrix of products.
void panel_sums(const PanelJob& job, int threads, Watch& watch);

// Makes a square matrix symmetric: values[i][j] = values[j][i] = the larger of the two, or the lower one.
void make_symmetric(float* values, std::int64_t size, std::int64_t stride, bool from_lower, int threads, Watch& watch);

// out[i][j] = max(out[i][j], other[j][i]).
void transposed_max(float* out, std::int64_t stride, const float* other, std::int64_t other_stride, std::int64_t rows,
                    std::int64_t columns, int threads, Watch& watch);

}  // namespace wordferry
