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

// The words that stand in the documents passed over: only these matter. `number[w]` is 1, 2, ... for them, else 0.
struct Wanted {
  std::vector<std::uint32_t> number;
  std::uint32_t count = 0;
  std::vector<std::int64_t> indptr;    // the graph with wanted words only: for each word
  std::vector<std::int32_t> indices;   // the wanted words related to it,
  std::vector<float> costs;            // and their costs

  explicit Wanted(const PanelJob& job) : number(static_cast<std::size_t>(job.words), 0) {
    for (std::int64_t k = job.pass.indptr[0]; k < job.pass.indptr[job.pass.rows]; ++k) {
      std::uint32_t& place = number[static_cast<std::size_t>(job.pass.indices[k])];
      if (place == 0) place = ++count;
    }
    indptr.assign(static_cast<std::size_t>(job.words) + 1, 0);
    if (job.kind == PanelKind::product) return;
    for (std::int64_t word = 0; word < job.graph.rows; ++word) {
      for (std::int64_t k = job.graph.indptr[word]; k < job.graph.indptr[word + 1]; ++k) {
        if (number[static_cast<std::size_t>(job.graph.indices[k])] == 0) continue;
        indices.push_back(job.graph.indices[k]);
        costs.push_back(job.graph.data[k]);
      }
      indptr[static_cast<std::size_t>(word) + 1] = static_cast<std::int64_t>(indices.size());
    }
  }
};

// Slots for the words that a panel touches; all other words share slot 0. When few words are wanted, each has its
// slot for good. Otherwise slots are given out anew for each panel, so that the table stays in the cache.
class PanelTable {
 public:
  PanelTable(const PanelJob& job, const Wanted& wanted)
      : job_(job), wanted_(wanted), fixed_(wanted.count <= few_words), used_(wanted.count + 1) {
    if (fixed_) {
      slots_ = wanted.number;
    } else {
      slots_.assign(wanted.number.size(), 0);
      touched_.resize(wanted.count + 2);
    }
  }

  void build(std::int64_t first, std::int64_t count) {
    if (!fixed_) give_slots(first, count);
    if (table_.size() < used_) table_.resize(used_);
    Slot empty{};
    fill_lanes(empty.near, job_.rest);
    std::fill_n(table_.begin(), used_, empty);
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const std::int64_t document = first + lane;
      for (std::int64_t k = job_.panel.indptr[document]; k < job_.panel.indptr[document + 1]; ++k) {
        add_word(job_.panel.indices[k], job_.panel.data[k], static_cast<std::size_t>(lane));
      }
    }
    fill_lanes(table_[0].near, job_.rest);  // unwanted words left their mark here
    table_[0].mass = Lanes{};
  }

  const std::uint32_t* slots() const { return slots_.data(); }
  const Slot* table() const { return table_.data(); }

 private:
  static constexpr std::uint32_t few_words = 4096;

  void give_slots(std::int64_t first, std::int64_t count) {
    for (std::uint32_t slot = 1; slot < used_ && slot < touched_.size(); ++slot) {
      slots_[static_cast<std::size_t>(touched_[slot])] = 0;
    }
    used_ = 1;
    for (std::int64_t k = job_.panel.indptr[first]; k < job_.panel.indptr[first + count]; ++k) {
      const std::int32_t word = job_.panel.indices[k];
      if (wanted_.number[static_cast<std::size_t>(word)] != 0) touch(word);
      if (job_.kind == PanelKind::product) continue;
      for (std::int64_t l = wanted_.indptr[static_cast<std::size_t>(word)];
           l < wanted_.indptr[static_cast<std::size_t>(word) + 1]; ++l) {
        touch(wanted_.indices[static_cast<std::size_t>(l)]);
      }
    }
  }

  // A new slot unless the word has one; without a branch, because it would be guessed wrong half of the time.
  void touch(std::int32_t word) {
    std::uint32_t& slot = slots_[static_cast<std::size_t>(word)];
    const bool is_new = slot == 0;
    touched_[used_] = word;
    slot = is_new ? used_ : slot;
    used_ += is_new;
  }

  void add_word(std::int32_t word, float mass, std::size_t lane) {
    Slot& own = table_[slots_[static_cast<std::size_t>(word)]];
    if (job_.kind == PanelKind::product) {
      own.near[lane] = mass;
      return;
    }
    if (job_.kind == PanelKind::omr) {
      own.mass[lane] = mass;
    } else {
      own.near[lane] = 0.0f;
    }
    const auto end = static_cast<std::size_t>(wanted_.indptr[static_cast<std::size_t>(word) + 1]);
    for (auto l = static_cast<std::size_t>(wanted_.indptr[static_cast<std::size_t>(word)]); l < end; ++l) {
      Slot& related = table_[slots_[static_cast<std::size_t>(wanted_.indices[l])]];
      related.near[lane] = std::min(related.near[lane], wanted_.costs[l]);
    }
  }

  const PanelJob& job_;
  const Wanted& wanted_;
  bool fixed_;
  std::uint32_t used_;  // slots in use, the shared one included
  std::vector<std::uint32_t> slots_;
  std::vector<Slot> table_;
  std::vector<std::int32_t> touched_;
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
  const std::int64_t most = std::max<std::int64_t>(1, 4 * threads / panels);
  const std::int64_t pieces = std::clamp<std::int64_t>(job.pass.rows / piece_rows, 1, most);
  const std::int64_t piece = (job.pass.rows + pieces - 1) / pieces;
  const Wanted wanted(job);
  std::vector<PanelTable> tables(static_cast<std::size_t>(std::max(threads, 1)), PanelTable(job, wanted));
  const auto body = [&](std::int64_t block, int worker) {
    PanelTable& table = tables[static_cast<std::size_t>(worker)];
    const std::int64_t first = block / pieces * lanes;
    const std::int64_t count = std::min(lanes, job.panel.rows - first);
    const std::int64_t start = block % pieces * piece;
    const std::int64_t high = std::min(start + piece, job.pass.rows);
    const std::int64_t low = job.lower ? std::max(start, first) : start;
    if (low >= high) return;
    table.build(first, count);
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
