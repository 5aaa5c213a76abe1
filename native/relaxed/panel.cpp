#include "relaxed/panel.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/at.hpp"
#include "support/compiler.hpp"
#include "support/cpu.hpp"
#include "relaxed/slot.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t lanes = lane_count;
constexpr std::int64_t chunk_rows = 256;     // documents passed over before their sums are stored
constexpr std::int64_t piece_rows = 1 << 12;  // the least worth building a panel again for
constexpr std::int64_t tile = 64;

// The words that stand in the documents passed over, ranked by how often: only these matter. A frequent word has a
// small rank, so that what is looked up often lies together.
struct WordRanks {
  std::int32_t count = 0;             // words with a rank
  std::vector<std::int32_t> rank;     // of each word; `count` for words without one
  std::vector<std::int32_t> passed;   // the ranks of the words of the documents passed over
  std::vector<std::int64_t> indptr;   // the graph: for each word
  std::vector<std::int32_t> related;  // the ranks of the words related to it that have one,
  std::vector<float> costs;           // and their costs

  WordRanks(const PanelJob& job, Watch& watch) {
    rank_words(job, watch);
    const std::int64_t stored = job.pass.indptr[job.pass.rows];
    passed.resize(static_cast<std::size_t>(stored));
    in_pieces(job.pass.indptr[0], stored, watch, [&](std::int64_t low, std::int64_t high) {
      for (std::int64_t k = low; k < high; ++k) {
        passed[static_cast<std::size_t>(k)] = rank[static_cast<std::size_t>(job.pass.indices[k])];
      }
    });
    indptr.assign(static_cast<std::size_t>(job.words) + 1, 0);
    if (job.kind == PanelKind::product) return;
    Pace pace(watch);
    for (std::int64_t word = 0; word < job.graph.rows; ++word) {
      pace.spend(8 + job.graph.indptr[word + 1] - job.graph.indptr[word]);
      for (std::int64_t k = job.graph.indptr[word]; k < job.graph.indptr[word + 1]; ++k) {
        const std::int32_t other = rank[static_cast<std::size_t>(job.graph.indices[k])];
        if (other == count) continue;
        related.push_back(other);
        costs.push_back(job.graph.data[k]);
      }
      indptr[static_cast<std::size_t>(word) + 1] = static_cast<std::int64_t>(related.size());
    }
  }

 private:
  void rank_words(const PanelJob& job, Watch& watch) {
    std::vector<std::int64_t> frequency(static_cast<std::size_t>(job.words), 0);
    in_pieces(job.pass.indptr[0], job.pass.indptr[job.pass.rows], watch, [&](std::int64_t low, std::int64_t high) {
      for (std::int64_t k = low; k < high; ++k) ++frequency[static_cast<std::size_t>(job.pass.indices[k])];
    });
    std::vector<std::int32_t> words;
    for (std::int32_t word = 0; word < job.words; ++word) {
      if (frequency[static_cast<std::size_t>(word)] > 0) words.push_back(word);
    }
    std::stable_sort(words.begin(), words.end(), [&](std::int32_t a, std::int32_t b) {
      return frequency[static_cast<std::size_t>(a)] > frequency[static_cast<std::size_t>(b)];
    });
    count = static_cast<std::int32_t>(words.size());
    rank.assign(static_cast<std::size_t>(job.words), count);
    for (std::int32_t i = 0; i < count; ++i) rank[static_cast<std::size_t>(words[static_cast<std::size_t>(i)])] = i;
  }
};

// Slots for the ranks that a panel touches; all others share slot 0. When few words are passed over, each has its
// slot for good. Otherwise slots are given out anew for each panel, so that the table stays in the cache.
class PanelTable {
 public:
  PanelTable(const PanelJob& job, const WordRanks& ranks)
      : job_(job), ranks_(ranks), fixed_(ranks.count <= few_words),
        slots_(static_cast<std::size_t>(ranks.count) + 1, 1) {
    give_slots();
  }

  void build(std::int64_t first, std::int64_t count) {
    if (!fixed_) {
      mark(first, count);
      give_slots();
    }
    if (table_.size() < used_) table_.resize(used_);
    Slot empty{};
    fill_lanes(empty.near, job_.rest);
    std::fill_n(table_.begin(), used_, empty);
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const std::int64_t document = first + lane;
      for (std::int64_t k = job_.panel.indptr[document]; k < job_.panel.indptr[document + 1]; ++k) {
        add_word(job_.panel.indices[k], job_.panel.data[k], static_cast<int>(lane));
      }
    }
    table_[0] = empty;  // words that are not passed over left their mark here
  }

  const std::uint32_t* slots() const { return slots_.data(); }
  const Slot* table() const { return table_.data(); }

 private:
  static constexpr std::int32_t few_words = 4096;

  void mark(std::int64_t first, std::int64_t count) {
    std::fill(slots_.begin(), slots_.end(), 0);
    for (std::int64_t k = job_.panel.indptr[first]; k < job_.panel.indptr[first + count]; ++k) {
      const auto word = static_cast<std::size_t>(job_.panel.indices[k]);
      slots_[static_cast<std::size_t>(ranks_.rank[word])] = 1;
      const auto end = static_cast<std::size_t>(ranks_.indptr[word + 1]);
      for (auto l = static_cast<std::size_t>(ranks_.indptr[word]); l < end; ++l) {
        slots_[static_cast<std::size_t>(ranks_.related[l])] = 1;
      }
    }
  }

  // From marks to slots 1, 2, ... in order of rank; the place of words without a rank gets slot 0.
  void give_slots() {
    used_ = 1;
    slots_.back() = 0;
    for (std::uint32_t& slot : slots_) {
      const std::uint32_t marked = slot;
      slot = marked * used_;
      used_ += marked;
    }
  }

  void add_word(std::int32_t word, float mass, int document) {
    const std::size_t own = slots_[static_cast<std::size_t>(ranks_.rank[static_cast<std::size_t>(word)])];
    if (job_.kind == PanelKind::omr) {
      lane(table_[own].mass, document) = mass;
    } else {
      lane(table_[own].near, document) = job_.kind == PanelKind::product ? mass : 0.0f;
    }
    const auto end = static_cast<std::size_t>(ranks_.indptr[static_cast<std::size_t>(word) + 1]);
    for (auto l = static_cast<std::size_t>(ranks_.indptr[static_cast<std::size_t>(word)]); l < end; ++l) {
      float& near = lane(table_[slots_[static_cast<std::size_t>(ranks_.related[l])]].near, document);
      const float before = near, cost = ranks_.costs[l];
      near = cost < before ? cost : before;
    }
  }

  const PanelJob& job_;
  const WordRanks& ranks_;
  bool fixed_;
  std::uint32_t used_ = 1;            // slots in use, the shared one included
  std::vector<std::uint32_t> slots_;  // of each rank
  std::vector<Slot> table_;
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

// Asks for the lines that `store` will write, so that they arrive while the sums are being made.
void expect_store(const PanelJob& job, std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t count) {
  const std::int64_t rows = job.transposed ? count : end - begin;
  const std::int64_t columns = job.transposed ? end - begin : count;
  const float* out = job.out + (job.transposed ? first * job.stride + begin : begin * job.stride + first);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; j += lanes) prefetch_for_writing(out + i * job.stride + j);
    prefetch_for_writing(out + i * job.stride + columns - 1);
  }
}

template <bool combine>
inline void put(float* target, float value) {
  *target = combine ? std::max(*target, value) : value;
}

// Stores the sums of some rows, as columns `first` .. `first + count` or, transposed, as rows of these numbers.
template <bool combine>
void store(const PanelJob& job, const Lanes* sums, std::int64_t begin, std::int64_t end, std::int64_t first,
           std::int64_t count) {
  float values[lanes][lanes];
  for (std::int64_t low = begin; low < end; low += lanes) {
    const std::int64_t rows = std::min(lanes, end - low);
    std::memcpy(values, sums + (low - begin), static_cast<std::size_t>(rows) * sizeof(Lanes));
    if (job.transposed) {
      for (std::int64_t i = 0; i < count; ++i) {
        float* target = job.out + (first + i) * job.stride + low;
        for (std::int64_t j = 0; j < rows; ++j) put<combine>(target + j, values[j][i]);
      }
    } else {
      for (std::int64_t i = 0; i < rows; ++i) {
        float* target = job.out + (low + i) * job.stride + first;
        for (std::int64_t j = 0; j < count; ++j) put<combine>(target + j, values[i][j]);
      }
    }
  }
}

}  // namespace

void panel_sums(const PanelJob& job, int threads, std::atomic<std::int64_t>& done, Watch& watch) {
  const std::int64_t panels = (job.panel.rows + lanes - 1) / lanes;
  if (panels == 0 || job.pass.rows == 0) return;
  // With few panels, the pass is cut into pieces so that every thread has work; a panel is then built once a piece.
  const std::int64_t most = std::max<std::int64_t>(1, 4 * threads / panels);
  const std::int64_t pieces = std::clamp<std::int64_t>(job.pass.rows / piece_rows, 1, most);
  const std::int64_t piece = (job.pass.rows + pieces - 1) / pieces;
  const WordRanks ranks(job, watch);
  const CsrF pass{job.pass.indptr, ranks.passed.data(), job.pass.data, job.pass.rows};
  std::vector<PanelTable> tables(at(worker_count(panels * pieces, threads)), PanelTable(job, ranks));
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
      watch.check();
      const std::int64_t end = std::min(begin + chunk_rows, high);
      expect_store(job, begin, end, first, count);
      pass_over(pass, begin, end, table.slots(), table.table(), sums.data());
      (job.combine ? store<true> : store<false>)(job, sums.data(), begin, end, first, count);
    }
    done += count * (high - start);
  };
  for_blocks(panels * pieces, threads, body, watch);
}

void make_symmetric(float* values, std::int64_t size, std::int64_t stride, bool from_lower, int threads,
                    Watch& watch) {
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t begin = block * tile, end = std::min(begin + tile, size);
    for (std::int64_t left = 0; left <= begin; left += tile) {
      watch.check();
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t j = left; j < std::min(left + tile, i); ++j) {
          const float low = values[i * stride + j], high = values[j * stride + i];
          values[i * stride + j] = values[j * stride + i] = from_lower ? low : std::max(low, high);
        }
      }
    }
  };
  for_blocks((size + tile - 1) / tile, threads, body, watch);
}

void transposed_max(float* out, std::int64_t stride, const float* other, std::int64_t other_stride, std::int64_t rows,
                    std::int64_t columns, int threads, Watch& watch) {
  const auto body = [&](std::int64_t block, int) {
    const std::int64_t begin = block * tile, end = std::min(begin + tile, rows);
    for (std::int64_t left = 0; left < columns; left += tile) {
      watch.check();
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t j = left; j < std::min(left + tile, columns); ++j) {
          out[i * stride + j] = std::max(out[i * stride + j], other[j * other_stride + i]);
        }
      }
    }
  };
  for_blocks((rows + tile - 1) / tile, threads, body, watch);
}

}  // namespace wordferry
