#include "relaxed/dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "support/cpu.hpp"
#include "relaxed/slot.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t lanes = lane_count;
constexpr std::int64_t block_rows = 64;
// Below this share of the squared lengths, a squared distance from a product has lost too many digits.
constexpr float lost_share = 0.01f;

// row[j] = the squared distance; returns whether one of them is so small that it must be computed again.
WF_CLONES
bool squared_row(float* row, std::int64_t columns, float square, const float* squares) {
  int lost = 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    const float both = square + squares[j];
    const float value = both - 2.0f * row[j];
    lost |= value < lost_share * both;
    row[j] = value;
  }
  return lost != 0;
}

WF_CLONES
void root_row(float* row, std::int64_t columns) {
  for (std::int64_t j = 0; j < columns; ++j) row[j] = std::sqrt(row[j] > 0.0f ? row[j] : 0.0f);
}

WF_CLONES
float squared_difference(const float* a, const float* b, std::int64_t dimensions) {
  double sum = 0.0;
  for (std::int64_t k = 0; k < dimensions; ++k) {
    const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    sum += difference * difference;
  }
  return static_cast<float>(sum);
}

// Minima of `Wide` vectors at a time, so that they stay in registers over all words of the document.
template <int Wide>
WF_ALWAYS_INLINE void minima_of(const std::int32_t* words, std::int64_t count, const float* costs, std::int64_t width,
                         std::int64_t column, Lanes* result) {
  Lanes best[Wide], row;
  for (int v = 0; v < Wide; ++v) fill_lanes(best[v], far_away);
  for (std::int64_t k = 0; k < count; ++k) {
    const float* from = costs + words[k] * width + column;
    for (int v = 0; v < Wide; ++v) {
      load_aligned(row, from + v * lanes);
      keep_lower(best[v], row);
    }
  }
  for (int v = 0; v < Wide; ++v) result[v] = best[v];
}

WF_CLONES
void minima_row(const std::int32_t* words, std::int64_t count, const float* costs, std::int64_t width,
                Lanes* result) {
  std::int64_t column = 0;
  for (; column + 8 * lanes <= width; column += 8 * lanes) {
    minima_of<8>(words, count, costs, width, column, result + column / lanes);
  }
  for (; column < width; column += lanes) minima_of<1>(words, count, costs, width, column, result + column / lanes);
}

// For each document, where its entries in the block of words begin and end.
struct Spans {
  std::vector<std::int64_t> from, to;

  Spans(const CsrF& documents, std::int64_t first, std::int64_t columns)
      : from(static_cast<std::size_t>(documents.rows)), to(from.size()) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::int32_t* begin = documents.indices + documents.indptr[i];
      const std::int32_t* end = documents.indices + documents.indptr[i + 1];
      begin = std::lower_bound(begin, end, first);
      end = std::lower_bound(begin, end, first + columns);
      from[i] = begin - documents.indices;
      to[i] = end - documents.indices;
    }
  }
};

WF_CLONES
void pass_block(const AccumulateJob& job, const Spans& spans, const Slot* table, std::int64_t begin, std::int64_t end, Lanes* sums) {
  for (std::int64_t row = begin; row < end; ++row) {
    Lanes even{}, odd{};
    std::int64_t k = spans.from[static_cast<std::size_t>(row)];
    const std::int64_t stop = spans.to[static_cast<std::size_t>(row)];
    for (; k + 1 < stop; k += 2) {
      add_excess(even, job.pass.data[k], table[job.pass.indices[k] - job.first_word]);
      add_excess(odd, job.pass.data[k + 1], table[job.pass.indices[k + 1] - job.first_word]);
    }
    if (k < stop) add_excess(even, job.pass.data[k], table[job.pass.indices[k] - job.first_word]);
    sums[row - begin] = even + odd;
  }
}

void build_table(const AccumulateJob& job, const Spans& spans, std::int64_t panel, std::int64_t count, std::vector<Slot>& table) {
  const float* nearest = job.nearest + panel * job.columns * lanes;
  for (std::int64_t c = 0; c < job.columns; ++c) {
    Slot& slot = table[static_cast<std::size_t>(c)];
    load_aligned(slot.near, nearest + c * lanes);
    slot.mass = Lanes{};
  }
  if (!job.omr) return;
  for (std::int64_t place = 0; place < count; ++place) {
    const auto document = static_cast<std::size_t>(panel * lanes + place);
    for (std::int64_t k = spans.from[document]; k < spans.to[document]; ++k) {
      Slot& slot = table[static_cast<std::size_t>(job.panel.indices[k] - job.first_word)];
      lane(slot.mass, static_cast<int>(place)) = job.panel.data[k];
    }
  }
}

}  // namespace

void products_to_distances(float* products, std::int64_t stride, const VectorRows& a, const float* a_squares,
                           const VectorRows& b, const float* b_squares, int threads, Watch& watch) {
  const auto body = [&](std::int64_t block, int) {
    Pace pace(watch);
    for (std::int64_t i = block * block_rows; i < std::min((block + 1) * block_rows, a.rows); ++i) {
      watch.check();
      float* row = products + i * stride;
      if (squared_row(row, b.rows, a_squares[i], b_squares)) {
        for (std::int64_t j = 0; j < b.rows; ++j) {
          if (row[j] < lost_share * (a_squares[i] + b_squares[j])) {
            pace.spend(a.dimensions);
            row[j] = squared_difference(a.values + i * a.dimensions, b.values + j * b.dimensions, a.dimensions);
          }
        }
      }
      root_row(row, b.rows);
    }
  };
  for_blocks((a.rows + block_rows - 1) / block_rows, threads, body, watch);
}

void document_minima(const CsrF& documents, const float* costs, std::int64_t width, float* nearest,
                     std::int64_t columns, std::int64_t column0, int threads, Watch& watch) {
  const std::int64_t panels = (documents.rows + lanes - 1) / lanes;
  const auto body = [&](std::int64_t panel, int) {
    LaneArray minima(static_cast<std::size_t>(width));  // 16 documents x width
    for (std::int64_t place = 0; place < lanes; ++place) {
      watch.check();
      const std::int64_t document = std::min(panel * lanes + place, documents.rows - 1);
      const std::int64_t first = documents.indptr[document];
      const std::int64_t count = panel * lanes + place < documents.rows ? documents.indptr[document + 1] - first : 0;
      minima_row(documents.indices + first, count, costs, width, minima.data() + place * width / lanes);
    }
    float* target = nearest + (panel * columns + column0) * lanes;
    for (std::int64_t c = 0; c < width; ++c) {
      const Lanes* column = minima.data() + c / lanes;
      for (std::int64_t place = 0; place < lanes; ++place) {
        target[c * lanes + place] = lane(column[place * width / lanes], static_cast<int>(c % lanes));
      }
    }
  };
  for_blocks(panels, threads, body, watch);
}

void accumulate(const AccumulateJob& job, int threads, std::atomic<std::int64_t>& done, Watch& watch) {
  constexpr std::int64_t chunk = 256;
  const std::int64_t panels = (job.panel.rows + lanes - 1) / lanes;
  const Spans moving(job.pass, job.first_word, job.columns), targets(job.panel, job.first_word, job.columns);
  const auto body = [&](std::int64_t panel, int) {
    const std::int64_t first = panel * lanes, count = std::min(lanes, job.panel.rows - first);
    std::vector<Slot> table(static_cast<std::size_t>(job.columns));
    LaneArray sums(static_cast<std::size_t>(chunk));
    build_table(job, targets, panel, count, table);
    for (std::int64_t begin = 0; begin < job.pass.rows; begin += chunk) {
      watch.check();
      const std::int64_t end = std::min(begin + chunk, job.pass.rows);
      pass_block(job, moving, table.data(), begin, end, sums.data());
      for (std::int64_t row = begin; row < end; ++row) {
        if (job.add && moving.from[static_cast<std::size_t>(row)] == moving.to[static_cast<std::size_t>(row)]) continue;
        float source[lane_count];
        std::memcpy(source, sums.data() + (row - begin), sizeof source);
        float* target = job.out + row * job.stride + first;
        for (std::int64_t place = 0; place < count; ++place) {
          target[place] = job.add ? target[place] + source[place] : source[place];
        }
      }
    }
    done += count * job.pass.rows;
  };
  for_blocks(panels, threads, body, watch);
}

}  // namespace wordferry
