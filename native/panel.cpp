#include "panel.hpp"

#include <algorithm>
#include <vector>

#include "cpu.hpp"
#include "slot.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t lanes = static_cast<std::int64_t>(lane_count);
constexpr std::int64_t chunk_rows = 256;     // documents passed over before their sums are stored
constexpr std::int64_t piece_rows = 1 << 12;  // the least worth building a panel again for
constexpr std::int64_t tile = 64;

// Slots for the words that a panel touches; all other words share slot 0.
class PanelTable {
 public:
  explicit PanelTable(std::int64_t words) : slots_(static_cast<std::size_t>(words), 0), table_(1) {}

  void build(const PanelJob& job, std::int64_t first, std::int64_t count) {
    clear(job.rest);
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const std::int64_t document = first + lane;
      for (std::int64_t k = job.panel.indptr[document]; k < job.panel.indptr[document + 1]; ++k) {
        add_word(job, job.panel.indices[k], job.panel.data[k], static_cast<std::size_t>(lane));
      }
    }
  }

  const std::uint32_t* slots() const { return slots_.data(); }
  const Slot* table() const { return table_.data(); }

 private:
  void clear(float rest) {
    for (const std::int32_t word : touched_) slots_[static_cast<std::size_t>(word)] = 0;
    touched_.clear();
    table_.clear();
    rest_ = rest;
    new_slot();
  }

  void new_slot() {
    Slot slot{};
    fill_lanes(slot.near, rest_);
    table_.push_back(slot);
  }

  Slot& at(std::int32_t word) {
    std::uint32_t& slot = slots_[static_cast<std::size_t>(word)];
    if (slot == 0) {
      slot = static_cast<std::uint32_t>(table_.size());
      touched_.push_back(word);
      new_slot();
    }
    return table_[slot];
  }

  void add_word(const PanelJob& job, std::int32_t word, float mass, std::size_t lane) {
    Slot& own = at(word);
    if (job.kind == PanelKind::product) {
      own.near[lane] = mass;
      return;
    }
    if (job.kind == PanelKind::omr) {
      own.mass[lane] = mass;
    } else {
      own.near[lane] = 0.0f;
    }
    for (std::int64_t k = job.graph.indptr[word]; k < job.graph.indptr[word + 1]; ++k) {
      Slot& related = at(job.graph.indices[k]);
      related.near[lane] = std::min(related.near[lane], job.graph.data[k]);
    }
  }

  std::vector<std::uint32_t> slots_;
  std::vector<Slot> table_;
  std::vector<std::int32_t> touched_;
  float rest_ = 0.0f;
};

// sums[r][lane] = sum over the words w of document r of max(mass - table[w].mass, 0) * table[w].near, two words at
// a time so that neither sum waits for the other.
WF_CLONES
void pass_over(const CsrF& pass, std::int64_t begin, std::int64_t end, const std::uint32_t* slots, const Slot* table,
               Lanes* sums) {
  for (std::int64_t row = begin; row < end; ++row) {
    Lanes even{}, odd{};
    std::int64_t k = pass.indptr[row];
    const std::int64_t stop = pass.indptr[row + 1];
    for (; k + 1 < stop; k += 2) {
      add_excess(even, pass.data[k], table[slots[pass.indices[k]]]);
      add_excess(odd, pass.data[k + 1], table[slots[pass.indices[k + 1]]]);
    }
    if (k < stop) add_excess(even, pass.data[k], table[slots[pass.indices[k]]]);
    sums[row - begin] = even + odd;
  }
}

// Stores the sums of some rows, as columns `first` .. `first + count` or, transposed, as rows of these numbers.
void store(const PanelJob& job, const Lanes* sums, std::int64_t begin, std::int64_t end, std::int64_t first,
           std::int64_t count) {
  const float* values = reinterpret_cast<const float*>(sums);
  const std::int64_t rows = job.transposed ? count : end - begin;
  const std::int64_t columns = job.transposed ? end - begin : count;
  const std::int64_t row_step = job.transposed ? 1 : lanes;
  const std::int64_t column_step = job.transposed ? lanes : 1;
  float* out = job.out + (job.transposed ? first * job.stride + begin : begin * job.stride + first);
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* source = values + i * row_step;
    float* target = out + i * job.stride;
    if (job.combine) {
      for (std::int64_t j = 0; j < columns; ++j) target[j] = std::max(target[j], source[j * column_step]);
    } else {
      for (std::int64_t j = 0; j < columns; ++j) target[j] = source[j * column_step];
    }
  }
}

}  // namespace

void panel_sums(const PanelJob& job, int threads, std::atomic<std::int64_t>& done, const Poll& poll) {
  const std::int64_t panels = (job.panel.rows + lanes - 1) / lanes;
  if (panels == 0 || job.pass.rows == 0) return;
  // With few panels, the pass is cut into pieces so that every thread has work; a panel is then built once a piece.
  const std::int64_t wanted = std::max<std::int64_t>(1, 4 * threads / panels);
  const std::int64_t pieces = std::clamp<std::int64_t>(job.pass.rows / piece_rows, 1, wanted);
  const std::int64_t piece = (job.pass.rows + pieces - 1) / pieces;
  std::vector<PanelTable> tables(static_cast<std::size_t>(std::max(threads, 1)), PanelTable(job.words));
  const auto body = [&](std::int64_t block, int worker) {
    PanelTable& table = tables[static_cast<std::size_t>(worker)];
    const std::int64_t first = block / pieces * lanes;
    const std::int64_t count = std::min(lanes, job.panel.rows - first);
    const std::int64_t start = block % pieces * piece;
    const std::int64_t high = std::min(start + piece, job.pass.rows);
    const std::int64_t low = job.lower ? std::max(start, first) : start;
    if (low >= high) return;
    table.build(job, first, count);
    LaneArray sums(static_cast<std::size_t>(chunk_rows));
    for (std::int64_t begin = low; begin < high; begin += chunk_rows) {
      const std::int64_t end = std::min(begin + chunk_rows, high);
      pass_over(job.pass, begin, end, table.slots(), table.table(), sums.data());
      store(job, sums.data(), begin, end, first, count);
    }
    done += count * (high - start);
  };
  for_blocks(panels * pieces, threads, body, poll);
}

void make_symmetric(float* values, std::int64_t size, std::int64_t stride, bool from_lower, int threads,
                    const Poll& poll) {
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t begin = block * tile, end = std::min(begin + tile, size);
    for (std::int64_t left = 0; left <= begin; left += tile) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t j = left; j < std::min(left + tile, i); ++j) {
          const float low = values[i * stride + j], high = values[j * stride + i];
          values[i * stride + j] = values[j * stride + i] = from_lower ? low : std::max(low, high);
        }
      }
    }
  };
  for_blocks((size + tile - 1) / tile, threads, body, poll);
}

void transposed_max(float* out, std::int64_t stride, const float* other, std::int64_t other_stride, std::int64_t rows,
                    std::int64_t columns, int threads, const Poll& poll) {
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t begin = block * tile, end = std::min(begin + tile, rows);
    for (std::int64_t left = 0; left < columns; left += tile) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t j = left; j < std::min(left + tile, columns); ++j) {
          out[i * stride + j] = std::max(out[i * stride + j], other[j * other_stride + i]);
        }
      }
    }
  };
  for_blocks((rows + tile - 1) / tile, threads, body, poll);
}

}  // namespace wordferry
