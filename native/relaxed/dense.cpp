// The minima over documents that RWMD takes of distances between words, and their sums.
#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "relaxed/touched.hpp"
#include "support/at.hpp"
#include "support/bind.hpp"
#include "support/lanes.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

// Costs of all words (rows) to those of a block (columns); a part of a wider matrix.
struct CostBlock {
  const float* values;
  std::int64_t rows, width, stride;  // width and stride are multiples of 16

  explicit CostBlock(const Matrix& costs)
      : values(costs.data()), rows(costs.length()), width(costs.length(1)), stride(row_stride(costs)) {
    require(width % 16 == 0 && stride % 16 == 0 && is_aligned(values),
            "costs need columns in sixteens, aligned to 64 bytes");
  }
};

struct AccumulateJob {
  CsrF pass;             // the documents whose words move, their words rising
  CsrF panel;            // the documents moved to: their masses over the same words, rising too
  const float* nearest;  // [panel][columns][16]
  std::int64_t columns;
  std::int64_t first_word;  // the word of column 0; only the words of columns 0 .. columns - 1 take part
  bool omr;                 // common mass stays; else everything moves
  bool add;                 // add to `out`, or start it
  float* out;               // [pass][panel]
  std::int64_t stride;
};

// Minima of `Wide` vectors at a time, so that they stay in registers over all words of the document. Word `first` has
// the first row.
template <int Wide>
WF_ALWAYS_INLINE void minima_of(std::span<const std::int32_t> words, std::int64_t first, const float* costs,
                                std::int64_t stride, Lanes* result) {
  Lanes best[Wide], row;
  for (int v = 0; v < Wide; ++v) fill_lanes(best[v], far_away);
  for (const std::int32_t word : words) {
    const float* from = costs + (word - first) * stride;
    for (int v = 0; v < Wide; ++v) {
      load_aligned(row, from + v * lane_width);
      keep_lower(best[v], row);
    }
  }
  for (int v = 0; v < Wide; ++v) result[v] = best[v];
}

constexpr std::int64_t wide = 8;

// For each document, where its entries in the block of words begin and end.
struct Spans {
  std::vector<std::int64_t> from, to;

  std::span<const std::int32_t> words(const CsrF& documents, std::int64_t document) const {
    return {documents.indices + from[at(document)], documents.indices + to[at(document)]};
  }

  Spans(const CsrF& documents, std::int64_t first, std::int64_t columns) : from(at(documents.rows)), to(from.size()) {
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

// What sixteen documents know of one word, side by side in memory: costs first, then masses.
struct Slot {
  Lanes near, mass;
};

// Two documents at a time, so that neither sum waits for the other. Each is summed up word by word, and goes on from
// where it stands: the value is the same however the words are cut into blocks.
void pass_block(const AccumulateJob& job, const Spans& spans, const Slot* table, std::int64_t begin, std::int64_t end,
                Lanes* sums) {
  const auto add = [&](Lanes& sum, std::int64_t k) {
    const Slot& slot = table[job.pass.indices[k] - job.first_word];
    add_excess(sum, job.pass.data[k], slot.near, slot.mass);
  };
  for (std::int64_t row = begin; row < end; row += 2) {
    const std::int64_t other = std::min(row + 1, end - 1);
    std::int64_t k = spans.from[at(row)], l = spans.from[at(other)];
    const std::int64_t stop = spans.to[at(row)], last = row < other ? spans.to[at(other)] : l;
    Lanes one = sums[row - begin], two = sums[other - begin];
    for (; k < stop && l < last; ++k, ++l) {
      add(one, k);
      add(two, l);
    }
    for (; k < stop; ++k) add(one, k);
    for (; l < last; ++l) add(two, l);
    sums[other - begin] = two;
    sums[row - begin] = one;
  }
}

void build_table(const AccumulateJob& job, const Spans& spans, std::int64_t panel, std::int64_t count,
                 std::vector<Slot>& table) {
  const float* nearest = job.nearest + panel * job.columns * lane_width;
  for (std::int64_t c = 0; c < job.columns; ++c) {
    load_aligned(table[at(c)].near, nearest + c * lane_width);
    table[at(c)].mass = Lanes{};
  }
  if (!job.omr) return;
  for (std::int64_t place = 0; place < count; ++place) {
    const auto document = at(panel * lane_width + place);
    for (std::int64_t k = spans.from[document]; k < spans.to[document]; ++k) {
      lane(table[at(job.panel.indices[k] - job.first_word)].mass, static_cast<int>(place)) = job.panel.data[k];
    }
  }
}

template <class Array>
void require_panels(const Array& nearest, const FloatView& documents) {
  require(nearest.length(2) == 16 && nearest.length() * 16 >= documents.rows &&
              (nearest.size() == 0 || is_aligned(nearest.data())),
          "nearest needs sixteen lanes and a panel for all documents, aligned to 64 bytes");
}

std::int64_t panels_of(const CsrF& documents) { return (documents.rows + lane_width - 1) / lane_width; }

// nearest[panel][column0 + c][lane] = min over the words w of a document of costs[w][c]; lanes without a document or
// words get far_away.
void document_minima(const FloatView& documents, const Matrix& values, const Out<float, 3>& nearest,
                     std::int64_t column0, int threads) {
  const CostBlock costs(values);
  const std::int64_t columns = nearest.length(1), lanes = costs.width / lane_width;
  require(costs.rows >= documents.columns, "costs needs a row for each word");
  require(costs.width <= columns && column0 >= 0 && column0 <= columns - costs.width, "columns must fit");
  require_panels(nearest, documents);
  run_blocks(panels_of(documents), threads, [&](std::int64_t panel, int, Watch& watch) {
    LaneArray minima(at(lanes * lane_width));  // of 16 documents
    for (std::int64_t place = 0; place < lane_width; ++place) {
      watch.check();
      const std::int64_t document = panel * lane_width + place;
      std::span<const std::int32_t> words;
      if (document < documents.rows) {
        words = {documents.indices + documents.indptr[document], documents.indices + documents.indptr[document + 1]};
      }
      Lanes* const result = minima.data() + place * lanes;
      std::int64_t v = 0;
      for (; v + wide <= lanes; v += wide) {
        minima_of<wide>(words, 0, costs.values + v * lane_width, costs.stride, result + v);
      }
      for (; v < lanes; ++v) minima_of<1>(words, 0, costs.values + v * lane_width, costs.stride, result + v);
    }
    float* target = nearest.data() + (panel * columns + column0) * lane_width;
    for (std::int64_t v = 0; v < lanes; ++v) {
      Lanes tile[lane_count];
      for (int place = 0; place < lane_count; ++place) tile[place] = minima.data()[place * lanes + v];
      transpose(tile);
      std::memcpy(target + v * lane_width * lane_width, tile, sizeof tile);
    }
  });
}

// The other way round, a block of the documents' words at a time: nearest[panel][w][lane] = min(itself, min over the
// words first_word + c of a document of costs[w][c]).
void lower_minima(const FloatView& documents, std::int64_t first_word, const Matrix& values,
                  const Out<float, 3>& nearest, int threads) {
  const CostBlock costs(values);
  const std::int64_t rows = nearest.length(1);
  require(documents.sorted, "the words of a document must rise");
  require(first_word >= 0 && first_word <= std::numeric_limits<std::int32_t>::max(), "first_word must fit in an int32");
  require(costs.rows >= 1 && rows % 16 == 0 && rows >= costs.rows, "nearest needs room for all rows, in sixteens");
  require_panels(nearest, documents);
  constexpr std::int64_t some_rows = wide * lane_width;
  const Spans spans(documents, first_word, costs.width);
  run_blocks((rows + some_rows - 1) / some_rows, threads, [&](std::int64_t block, int, Watch& watch) {
    const std::int64_t first = block * some_rows;
    LaneArray turned(at(costs.width * wide));  // the block's words x some_rows
    for (std::int64_t row = 0; row < some_rows; row += lane_width) {
      for (std::int64_t column = 0; column < costs.width; column += lane_width) {
        Lanes tile[lane_count];
        for (std::int64_t i = 0; i < lane_width; ++i) {
          load(tile[i], costs.values + std::min(first + row + i, costs.rows - 1) * costs.stride + column);
        }
        transpose(tile);
        for (std::int64_t i = 0; i < lane_width; ++i) turned.data()[(column + i) * wide + row / lane_width] = tile[i];
      }
    }
    for (std::int64_t panel = 0; panel < panels_of(documents); ++panel) {
      watch.check();
      Lanes minima[lane_count][wide];
      bool any = false;
      for (int place = 0; place < lane_count; ++place) {
        const std::int64_t document = panel * lane_width + place;
        std::span<const std::int32_t> words;
        if (document < documents.rows) words = spans.words(documents, document);
        any |= !words.empty();
        minima_of<wide>(words, first_word, reinterpret_cast<const float*>(turned.data()), some_rows, minima[place]);
      }
      for (std::int64_t v = 0; any && v < std::min(wide, (rows - first) / lane_width); ++v) {
        Lanes tile[lane_count], old;
        for (int place = 0; place < lane_count; ++place) tile[place] = minima[place][v];
        transpose(tile);
        float* const target = nearest.data() + (panel * rows + first + v * lane_width) * lane_width;
        for (int i = 0; i < lane_count; ++i) {
          load_aligned(old, target + i * lane_width);
          keep_lower(old, tile[i]);
          store(target + i * lane_width, old);
        }
      }
    }
  });
}

// out[d][e] (+)= sum over d's words w of this block of max(d_w - e_w, 0) * nearest[e][w], one word after the other.
void accumulate(const FloatView& pass, const FloatView& panel, const In<float, 3>& nearest, std::int64_t first_word,
                bool omr, bool add, const Matrix& out, int threads) {
  const std::int64_t columns = nearest.length(1);
  require(pass.sorted && panel.sorted, "the words of a document must rise");
  require_panels(nearest, panel);
  require(out.length() == pass.rows && out.length(1) == panel.rows, "out has another shape than the documents");
  require(first_word >= 0 && first_word <= std::numeric_limits<std::int32_t>::max(), "first_word must fit in an int32");
  constexpr std::int64_t rows_at_once = 256;
  const AccumulateJob job{pass, panel, nearest.data(), columns, first_word, omr, add, out.data(), row_stride(out)};
  run_native([&](Watch& watch) {
    const Spans moving(pass, first_word, columns), targets(panel, first_word, columns);
    const auto block = [&](std::int64_t number, int) {
      const std::int64_t first = number * lane_width, count = std::min(lane_width, panel.rows - first);
      std::vector<Slot> table(at(job.columns));
      LaneArray sums(at(rows_at_once));
      const auto bytes = at(count) * sizeof(float);
      const auto out_at = [&](std::int64_t row) { return job.out + row * job.stride + first; };
      build_table(job, targets, number, count, table);
      for (std::int64_t begin = 0; begin < pass.rows; begin += rows_at_once) {
        watch.check();
        const std::int64_t end = std::min(begin + rows_at_once, pass.rows);
        Lanes* const some = sums.data();
        for (std::int64_t row = begin; row < end; ++row) {
          fill_lanes(some[row - begin], 0.0f);
          if (job.add) std::memcpy(some + (row - begin), out_at(row), bytes);
        }
        pass_block(job, moving, table.data(), begin, end, some);
        for (std::int64_t row = begin; row < end; ++row) std::memcpy(out_at(row), some + (row - begin), bytes);
      }
    };
    for_blocks(panels_of(panel), thread_limit(threads), block, watch);
  });
}

}  // namespace

void bind_dense(nb::module_& m) {
  m.def("document_minima", &document_minima, "documents"_a, "costs"_in, "nearest"_in, "column0"_a, "threads"_a);
  m.def("lower_minima", &lower_minima, "documents"_a, "first_word"_a, "costs"_in, "nearest"_in, "threads"_a);
  m.def("accumulate", &accumulate, "pass_over"_a, "panel"_a, "nearest"_in, "first_word"_a, "omr"_a, "add"_a, "out"_in,
        "threads"_a);
}

}  // namespace wordferry
