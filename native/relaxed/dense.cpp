// The minima over documents that RWMD takes of distances between words, and their sums.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "relaxed/touched.hpp"
#include "support/at.hpp"
#include "support/bind.hpp"
#include "support/lanes.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

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

// Minima of `Wide` vectors at a time, so that they stay in registers over all words of the document.
template <int Wide>
WF_ALWAYS_INLINE void minima_of(const std::int32_t* words, std::int64_t count, const float* costs, std::int64_t width,
                                std::int64_t column, Lanes* result) {
  Lanes best[Wide], row;
  for (int v = 0; v < Wide; ++v) fill_lanes(best[v], far_away);
  for (std::int64_t k = 0; k < count; ++k) {
    const float* from = costs + words[k] * width + column;
    for (int v = 0; v < Wide; ++v) {
      load_aligned(row, from + v * lane_width);
      keep_lower(best[v], row);
    }
  }
  for (int v = 0; v < Wide; ++v) result[v] = best[v];
}

void minima_row(const std::int32_t* words, std::int64_t count, const float* costs, std::int64_t width, Lanes* result) {
  std::int64_t column = 0;
  for (; column + 8 * lane_width <= width; column += 8 * lane_width) {
    minima_of<8>(words, count, costs, width, column, result + column / lane_width);
  }
  for (; column < width; column += lane_width)
    minima_of<1>(words, count, costs, width, column, result + column / lane_width);
}

// For each document, where its entries in the block of words begin and end.
struct Spans {
  std::vector<std::int64_t> from, to;

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

// nearest[panel][column0 + c][lane] = min over the words w of a document of costs[w][c], for `width` columns, a
// multiple of 16. `nearest` has `columns` columns per panel; lanes without a document or words get far_away.
void document_minima(const FloatView& documents, const In<float, 2>& costs, const Out<float, 3>& nearest,
                     std::int64_t column0, int threads) {
  const std::int64_t width = costs.length(1), columns = nearest.length(1);
  require(costs.length() >= documents.columns, "costs needs a row for each word");
  require(width % 16 == 0 && width <= columns && column0 >= 0 && column0 <= columns - width,
          "columns must fit, in sixteens");
  require(nearest.length(2) == 16 && nearest.length() * 16 >= documents.rows,
          "nearest needs sixteen lanes and a panel for all documents");
  require(is_aligned(costs.data()) && is_aligned(nearest.data()), "arrays must be aligned to 64 bytes");
  const std::int64_t panels = (documents.rows + lane_width - 1) / lane_width;
  run_blocks(panels, threads, [&](std::int64_t panel, int, Watch& watch) {
    LaneArray minima(at(width));  // 16 documents x width
    for (std::int64_t place = 0; place < lane_width; ++place) {
      watch.check();
      const std::int64_t document = std::min(panel * lane_width + place, documents.rows - 1);
      const std::int64_t first = documents.indptr[document];
      const std::int64_t count =
          panel * lane_width + place < documents.rows ? documents.indptr[document + 1] - first : 0;
      minima_row(documents.indices + first, count, costs.data(), width, minima.data() + place * width / lane_width);
    }
    float* target = nearest.data() + (panel * columns + column0) * lane_width;
    for (std::int64_t c = 0; c < width; ++c) {
      const Lanes* column = minima.data() + c / lane_width;
      for (std::int64_t place = 0; place < lane_width; ++place) {
        target[c * lane_width + place] = lane(column[place * width / lane_width], static_cast<int>(c % lane_width));
      }
    }
  });
}

// out[d][e] (+)= sum over d's words w of this block of max(d_w - e_w, 0) * nearest[e][w], one word after the other.
void accumulate(const FloatView& pass, const FloatView& panel, const In<float, 3>& nearest, std::int64_t first_word,
                bool omr, bool add, const Matrix& out, int threads) {
  const std::int64_t columns = nearest.length(1);
  require(pass.sorted && panel.sorted, "the words of a document must rise");
  require(nearest.length(2) == 16 && nearest.length() * 16 >= panel.rows,
          "nearest needs sixteen lanes and a panel for all documents");
  require(out.length() == pass.rows && out.length(1) == panel.rows, "out has another shape than the documents");
  require(first_word >= 0 && first_word <= std::numeric_limits<std::int32_t>::max(), "first_word must fit in an int32");
  require(is_aligned(nearest.data()), "arrays must be aligned to 64 bytes");
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
    for_blocks((panel.rows + lane_width - 1) / lane_width, thread_limit(threads), block, watch);
  });
}

}  // namespace

void bind_dense(nb::module_& m) {
  m.def("document_minima", &document_minima, "documents"_a, "costs"_in, "nearest"_in, "column0"_a, "threads"_a);
  m.def("accumulate", &accumulate, "pass_over"_a, "panel"_a, "nearest"_in, "first_word"_a, "omr"_a, "add"_a, "out"_in,
        "threads"_a);
}

}  // namespace wordferry
