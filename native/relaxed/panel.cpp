// Sixteen documents at a time against all documents of the other side: the linear algorithm for sums over words.
#include <algorithm>
#include <cstring>
#include <vector>

#include "support/at.hpp"
#include "support/bind.hpp"
#include "support/compiler.hpp"
#include "support/lanes.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t chunk_rows = 256;      // documents passed over before their sums are stored
constexpr std::int64_t piece_rows = 1 << 12;  // the least worth building a panel again for
constexpr std::int64_t tile = 64;
constexpr std::int64_t entries_at_once = 1 << 20;

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
    passed.resize(at(job.pass.indptr[job.pass.rows]));
    for_ranges(std::ssize(passed), entries_at_once, 1, watch, [&](std::int64_t k, std::int64_t end, int) {
      for (; k < end; ++k) passed[at(k)] = rank[at(job.pass.indices[k])];
    });
    indptr.assign(at(job.words) + 1, 0);
    if (job.kind == PanelKind::product) return;
    Pace pace(watch);
    for (std::int64_t word = 0; word < job.graph.rows; ++word) {
      pace.spend(8 + job.graph.indptr[word + 1] - job.graph.indptr[word]);
      for (std::int64_t k = job.graph.indptr[word]; k < job.graph.indptr[word + 1]; ++k) {
        const std::int32_t other = rank[at(job.graph.indices[k])];
        if (other == count) continue;
        related.push_back(other);
        costs.push_back(job.graph.data[k]);
      }
      indptr[at(word) + 1] = static_cast<std::int64_t>(related.size());
    }
  }

 private:
  void rank_words(const PanelJob& job, Watch& watch) {
    std::vector<std::int64_t> frequency(at(job.words), 0);
    const std::int32_t* const passing = job.pass.indices + job.pass.indptr[0];
    const std::int64_t entries = job.pass.indptr[job.pass.rows] - job.pass.indptr[0];
    for_ranges(entries, entries_at_once, 1, watch, [&](std::int64_t k, std::int64_t end, int) {
      for (; k < end; ++k) ++frequency[at(passing[k])];
    });
    std::vector<std::int32_t> words;
    for (std::int32_t word = 0; word < job.words; ++word) {
      if (frequency[at(word)] > 0) words.push_back(word);
    }
    std::stable_sort(words.begin(), words.end(),
                     [&](std::int32_t a, std::int32_t b) { return frequency[at(a)] > frequency[at(b)]; });
    count = static_cast<std::int32_t>(words.size());
    rank.assign(at(job.words), count);
    for (std::int32_t i = 0; i < count; ++i) rank[at(words[at(i)])] = i;
  }
};

// sums[r][lane] = sum over the words of document r, two at a time so that neither sum waits for the other; add(sum,
// mass, slot) adds a word to a sum.
template <class SlotNumber, class Add>
void pass_rows(const CsrF& pass, std::int64_t begin, std::int64_t end, const SlotNumber* slots, Add add, Lanes* sums) {
  for (std::int64_t row = begin; row < end; ++row) {
    Lanes even{}, odd{};
    std::int64_t k = pass.indptr[row];
    const std::int64_t stop = pass.indptr[row + 1];
    for (; k + 1 < stop; k += 2) {
      add(even, pass.data[k], slots[pass.indices[k]]);
      add(odd, pass.data[k + 1], slots[pass.indices[k + 1]]);
    }
    if (k < stop) add(even, pass.data[k], slots[pass.indices[k]]);
    sums[row - begin] = even + odd;
  }
}

// Slots for the ranks that a panel touches; all others share slot 0. When few words are passed over, each has its
// slot for good. Otherwise slots are given out anew for each panel, so that the table stays in the cache: the words of
// its documents first, because only these have masses.
class PanelTable {
 public:
  PanelTable(const PanelJob& job, const WordRanks& ranks)
      : job_(job), ranks_(ranks), fixed_(ranks.count <= few_words), slots_(at(ranks.count) + 1, own_word) {
    give_slots();
  }

  void build(std::int64_t first, std::int64_t count) {
    if (!fixed_) {
      mark(first, count);
      give_slots();
    }
    near_.grow(used_);
    for (std::uint32_t slot = 0; slot < used_; ++slot) fill_lanes(near_.data()[slot], job_.rest);
    if (job_.kind == PanelKind::omr) {
      mass_.grow(std::size_t{owned_} + 1);
      for (std::uint32_t slot = 0; slot <= owned_; ++slot) fill_lanes(mass_.data()[slot], 0.0f);
    }
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const std::int64_t document = first + lane;
      for (std::int64_t k = job_.panel.indptr[document]; k < job_.panel.indptr[document + 1]; ++k) {
        add_word(job_.panel.indices[k], job_.panel.data[k], static_cast<int>(lane));
      }
    }
    fill_lanes(near_.data()[0], job_.rest);  // words that are not passed over left their mark here
    if (job_.kind == PanelKind::omr) fill_lanes(mass_.data()[0], 0.0f);
  }

  void pass_over(const CsrF& pass, std::int64_t begin, std::int64_t end, Lanes* sums) {
    const auto over = [&](auto add) {
      if (used_ <= narrow_slots) return pass_rows(pass, begin, end, narrow_.data(), add, sums);
      pass_rows(pass, begin, end, slots_.data(), add, sums);
    };
    const Lanes *const near = near_.data(), *const mass = mass_.data();
    const auto whole = [=](Lanes& sum, float m, std::uint32_t slot) WF_INLINE_LAMBDA { add_whole(sum, m, near[slot]); };
    if (job_.kind != PanelKind::omr) return over(whole);
    if (ranks_.related.empty()) {  // all cost the same, and every slot is owned
      return over([=, cost = near[0]](Lanes& sum, float m, std::uint32_t slot)
                      WF_INLINE_LAMBDA { add_excess(sum, m, cost, mass[slot]); });
    }
    over([=, owned = owned_](Lanes& sum, float m, std::uint32_t slot)
             WF_INLINE_LAMBDA { add_excess(sum, m, near[slot], mass[std::min(slot, owned)]); });
  }

 private:
  static constexpr std::int32_t few_words = 4096;
  static constexpr std::uint32_t narrow_slots = 1 << 16;
  static constexpr std::uint32_t related_word = 1, own_word = 2;  // marks

  void mark(std::int64_t first, std::int64_t count) {
    std::fill(slots_.begin(), slots_.end(), 0);
    for (std::int64_t k = job_.panel.indptr[first]; k < job_.panel.indptr[first + count]; ++k) {
      const auto word = at(job_.panel.indices[k]);
      slots_[at(ranks_.rank[word])] = own_word;
      for (auto l = at(ranks_.indptr[word]); l < at(ranks_.indptr[word + 1]); ++l) {
        slots_[at(ranks_.related[l])] |= related_word;
      }
    }
  }

  // From marks to slots 1, 2, ... in order of rank, own words first; the place of words without a rank gets slot 0.
  void give_slots() {
    slots_.back() = 0;
    owned_ = 1;
    for (const std::uint32_t mark : slots_) owned_ += mark / own_word;
    std::uint32_t next = 1;
    used_ = owned_;
    for (std::uint32_t& slot : slots_) {  // without a jump that depends on the mark
      const std::uint32_t own = slot / own_word, related = slot % own_word & ~own;
      slot = own * next + related * used_;
      next += own;
      used_ += related;
    }
    if (used_ <= narrow_slots) narrow_.assign(slots_.begin(), slots_.end());
  }

  void add_word(std::int32_t word, float mass, int document) {
    const std::size_t own = slots_[at(ranks_.rank[at(word)])];
    if (job_.kind == PanelKind::omr) {
      lane(mass_.data()[own], document) = mass;
    } else {
      lane(near_.data()[own], document) = job_.kind == PanelKind::product ? mass : 0.0f;
    }
    for (auto l = at(ranks_.indptr[at(word)]); l < at(ranks_.indptr[at(word) + 1]); ++l) {
      float& near = lane(near_.data()[slots_[at(ranks_.related[l])]], document);
      const float before = near, cost = ranks_.costs[l];
      near = cost < before ? cost : before;
    }
  }

  const PanelJob& job_;
  const WordRanks& ranks_;
  bool fixed_;
  std::uint32_t owned_ = 1, used_ = 1;  // slots from which on there is no mass, and none is in use
  std::vector<std::uint32_t> slots_;    // of each rank
  std::vector<std::uint16_t> narrow_;   // the same, where they fit
  LaneArray near_, mass_;
};

template <bool combine>
inline void put(float* target, float value) {
  *target = combine ? std::max(*target, value) : value;
}

// Stores the sums of some rows, as columns `first` .. `first + count` or, transposed, as rows of these numbers.
template <bool combine>
void store_sums(const PanelJob& job, const Lanes* sums, std::int64_t begin, std::int64_t end, std::int64_t first,
                std::int64_t count) {
  float values[lane_width][lane_width];
  for (std::int64_t low = begin; low < end; low += lane_width) {
    const std::int64_t rows = std::min(lane_width, end - low);
    std::memcpy(values, sums + (low - begin), at(rows) * sizeof(Lanes));
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

// Calls each(i, j) for all cells of a matrix, or those below the diagonal, tile by tile.
template <class Each>
void for_tiles(std::int64_t rows, std::int64_t columns, bool lower, int threads, const Each& each) {
  run_native([&](Watch& watch) {
    for_ranges(rows, tile, thread_limit(threads), watch, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t left = 0; left < (lower ? end : columns); left += tile) {
        watch.check();
        for (std::int64_t i = begin; i < end; ++i) {
          for (std::int64_t j = left; j < std::min(left + tile, lower ? i : columns); ++j) each(i, j);
        }
      }
    });
  });
}

// One term of equation (5) or (12) for all pairs, or the matrix of products.
void panel_sums(const FloatView& panel, const FloatView& pass, const FloatView& graph, float rest, PanelKind kind,
                const Matrix& out, bool transposed, bool combine, bool lower, int threads, const nb::object& progress) {
  const bool product = kind == PanelKind::product;
  require(panel.columns == pass.columns && (product || graph.rows == pass.columns), "words must agree");
  require(product || graph.columns == pass.columns, "the graph must be square");
  const std::int64_t rows = out.length(transposed ? 1 : 0), columns = out.length(transposed ? 0 : 1);
  require(rows == pass.rows && columns == panel.rows, "out has another shape than the documents");
  require(!lower || rows == columns, "lower is for a square matrix");
  const std::int64_t words = product ? std::max(panel.largest, pass.largest) + std::int64_t{1} : pass.columns;
  const PanelJob job{panel, pass, graph, rest, kind, out.data(), row_stride(out), transposed, combine, lower, words};
  const int limit = thread_limit(threads);
  const std::int64_t panels = (panel.rows + lane_width - 1) / lane_width;
  if (panels == 0 || pass.rows == 0) return;
  // With few panels, the pass is cut into pieces so that every thread has work; a panel is then built once a piece.
  const std::int64_t most = std::max<std::int64_t>(1, 4 * limit / panels);
  const std::int64_t pieces = std::clamp<std::int64_t>(pass.rows / piece_rows, 1, most);
  const std::int64_t piece = (pass.rows + pieces - 1) / pieces;
  const auto work = [&](Watch& watch) {
    const WordRanks ranks(job, watch);
    const CsrF ranked{job.pass.indptr, ranks.passed.data(), job.pass.data, pass.rows};
    std::vector<PanelTable> tables(at(worker_count(panels * pieces, limit)), PanelTable(job, ranks));
    const auto body = [&](std::int64_t block, int worker) {
      PanelTable& table = tables[at(worker)];
      const std::int64_t first = block / pieces * lane_width;
      const std::int64_t count = std::min(lane_width, panel.rows - first);
      const std::int64_t start = block % pieces * piece;
      const std::int64_t high = std::min(start + piece, pass.rows);
      const std::int64_t low = job.lower ? std::max(start, first) : start;
      if (low >= high) return;
      table.build(first, count);
      LaneArray sums(at(chunk_rows));
      for (std::int64_t begin = low; begin < high; begin += chunk_rows) {
        watch.check();
        const std::int64_t end = std::min(begin + chunk_rows, high);
        table.pass_over(ranked, begin, end, sums.data());
        (job.combine ? store_sums<true> : store_sums<false>)(job, sums.data(), begin, end, first, count);
      }
      watch.add_done(count * (high - start));
    };
    for_blocks(panels * pieces, limit, body, watch);
  };
  run_native(work, progress, panel.rows * pass.rows);
}

// Makes a square matrix symmetric: values[i][j] = values[j][i] = the larger of the two, or the lower one.
void make_symmetric(const Matrix& matrix, int threads, bool from_lower) {
  require(matrix.shape(0) == matrix.shape(1), "the matrix must be square");
  float* const values = matrix.data();
  for_tiles(matrix.length(), matrix.length(), true, threads,
            [=, stride = row_stride(matrix)](std::int64_t i, std::int64_t j) {
              const float low = values[i * stride + j], high = values[j * stride + i];
              values[i * stride + j] = values[j * stride + i] = from_lower ? low : std::max(low, high);
            });
}

// larger[i][j] = max(larger[i][j], other[j][i]).
void transposed_max(const Matrix& larger, const Matrix& other, int threads) {
  require(larger.shape(0) == other.shape(1) && larger.shape(1) == other.shape(0), "the matrices must be transposes");
  float* const out = larger.data();
  const float* const from = other.data();
  for_tiles(larger.length(), larger.length(1), false, threads,
            [=, stride = row_stride(larger), other_stride = row_stride(other)](std::int64_t i, std::int64_t j) {
              out[i * stride + j] = std::max(out[i * stride + j], from[j * other_stride + i]);
            });
}

}  // namespace

void bind_panels(nb::module_& m) {
  nb::enum_<PanelKind>(m, "PanelKind")
      .value("omr", PanelKind::omr)
      .value("keep", PanelKind::keep)
      .value("product", PanelKind::product);
  m.def("panel_sums", &panel_sums, "panel"_a, "pass_over"_a, "graph"_a, "rest"_a, "kind"_a, "out"_in,
        "transposed"_a = false, "combine"_a = false, "lower"_a = false, "threads"_a = 1,
        "progress"_a.none() = nb::none());
  m.def("make_symmetric", &make_symmetric, "values"_in, "threads"_a, "from_lower"_a = false);
  m.def("transposed_max", &transposed_max, "out"_in, "other"_in, "threads"_a);
}

}  // namespace wordferry
