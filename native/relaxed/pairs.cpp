// The standard algorithm of the relaxed distances: one pair of documents after the other.
#include <algorithm>
#include <vector>

#include "relaxed/touched.hpp"
#include "support/at.hpp"
#include "support/bind.hpp"
#include "support/lanes.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t block_documents = 16;

struct PairsJob {
  CsrF x;
  CsrF y;
  Overlap overlap;
  Side side;
  float* out;  // [x][y]
  std::int64_t stride;
};

// Costs of one document x to all words of y: costs[w][i] of word w (y's numbering) and the i-th word of x, rows padded
// with far_away to `width`, a multiple of 16. A word's cost to itself must be far_away, or 0 for `keep`.
// Words behind the first x_known of x, and those of y from number y_known on, have no vector: no costs are stored of
// them, they are `far` from every other word.
struct DenseRows {
  const float* costs;
  std::int64_t width;
  std::int64_t x_known;
  std::int32_t y_known;
  float far;
};

struct Word {
  float excess;  // the mass that must move
  float best;    // the cost of the nearest word it may move to
};

float chosen(Side side, float left, float right) {
  return side == Side::left ? left : side == Side::right ? right : std::max(left, right);
}

// Takes away the common mass of both bags; `place` finds y's words in x. Returns whether both have something left.
bool take_common(const PairsJob& job, std::int64_t begin, std::int64_t end, const std::int32_t* place,
                 std::vector<Word>& x, std::vector<Word>& y) {
  if (job.overlap == Overlap::keep) return true;
  bool left = false, right = false;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int32_t same = place[job.y.indices[k]];
    if (same < 0) continue;
    Word& a = x[at(same)];
    Word& b = y[at(k - begin)];
    const float common = std::min(a.excess, b.excess);
    a.excess -= common;
    b.excess -= common;
  }
  for (const Word& word : x) left |= word.excess > 0.0f;
  for (std::int64_t k = begin; k < end; ++k) right |= y[at(k - begin)].excess > 0.0f;
  return left && right;
}

// One query at a time; a worker keeps the memory for the next.
class RelatedQuery {
 public:
  RelatedQuery(const PairsJob& job, const CsrF& graph, float c_max)
      : job_(job), graph_(graph), query_(graph.rows, c_max, job.overlap) {}

  void begin(std::int64_t row) {
    if (row == row_) return;
    row_ = row;
    query_.clear();
    const std::int64_t first = job_.x.indptr[row], count = job_.x.indptr[row + 1] - first;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t word = job_.x.indices[first + i];
      query_.add(word, job_.x.data[first + i]);
      for (std::int64_t k = graph_.indptr[word]; k < graph_.indptr[word + 1]; ++k) {
        query_.relate(static_cast<std::int32_t>(i), graph_.indices[k], graph_.data[k]);
      }
    }
    query_.finish();
  }

  // The distance to document j.
  float value(std::int64_t j) {
    const std::int64_t begin = job_.y.indptr[j];
    const float* const masses = job_.y.data + begin;
    return query_.value(job_.y.indices + begin, job_.y.indptr[j + 1] - begin, job_.side,
                        [masses](std::int64_t k) { return masses[k]; });
  }

 private:
  const PairsJob& job_;
  const CsrF& graph_;
  TouchedQuery query_;
  std::int64_t row_ = -1;
};

// best[v] = min over the rows of costs, and the minimum of one row plus its penalty.
float fold_row(const float* costs, const Lanes* penalty, Lanes* best, std::int64_t vectors, bool serves) {
  Lanes least, row;
  fill_lanes(least, far_away);
  if (serves) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      load_aligned(row, costs + v * lane_width);
      keep_lower(best[v], row);
    }
  }
  for (std::int64_t v = 0; v < vectors; ++v) {
    load_aligned(row, costs + v * lane_width);
    keep_lower(least, row + penalty[v]);
  }
  return least_lane(least);
}

// The float at a place of an array of lane_width.
float& lane_at(LaneArray& array, std::size_t i) {
  return lane(array.data()[i / lane_count], static_cast<int>(i % lane_count));
}

class DenseRow {
 public:
  DenseRow(const PairsJob& job, const DenseRows& costs, const std::int32_t* place, Watch& watch)
      : job_(job), pace_(watch), costs_(costs), vectors_(costs.width / lane_width), place_(place), best_(at(vectors_)),
        penalty_(at(vectors_)) {}

  float value(std::int64_t j) {
    const std::int64_t begin = job_.y.indptr[j], end = job_.y.indptr[j + 1];
    const auto known = at(costs_.x_known);
    x_.clear();
    y_.clear();
    for (std::int64_t k = job_.x.indptr[0]; k < job_.x.indptr[1]; ++k) x_.push_back({job_.x.data[k], costs_.far});
    for (std::int64_t k = begin; k < end; ++k) y_.push_back({job_.y.data[k], costs_.far});
    if (!take_common(job_, begin, end, place_, x_, y_) && job_.overlap == Overlap::residual) return 0.0f;
    const bool residual = job_.overlap == Overlap::residual;
    for (std::size_t i = 0; i < known; ++i) {
      lane_at(penalty_, i) = residual && x_[i].excess <= 0.0f ? far_away : 0.0f;
    }
    for (std::int64_t v = 0; v < vectors_; ++v) fill_lanes(best_.data()[v], far_away);
    const float to_x = serving(x_, known, residual);  // what the nearest word without a vector costs
    float to_y = far_away;
    std::size_t y_known = 0;  // words without a vector come last
    for (std::int64_t k = begin; k < end; ++k) {
      Word& b = y_[at(k - begin)];
      const std::int32_t word = job_.y.indices[k];
      const bool serves = !residual || b.excess > 0.0f;
      if (word >= costs_.y_known) {
        if (serves) to_y = costs_.far;
        stay(word, b);
        continue;
      }
      ++y_known;
      pace_.spend(vectors_);
      const float* row = costs_.costs + word * vectors_ * lane_width;
      b.best = std::min(to_x, fold_row(row, penalty_.data(), best_.data(), vectors_, serves));
    }
    for (std::size_t i = 0; i < known; ++i) x_[i].best = std::min(to_y, lane_at(best_, i));
    return chosen(job_.side, moving(x_, known), moving(y_, y_known));
  }

 private:
  // What moving all words costs, word by word as `accumulate` does, so that both algorithms of RWMD come to the same
  // bits. Masses of words without a vector are multiples of 2^-24, so that their sum is exact.
  float moving(const std::vector<Word>& words, std::size_t known) const {
    float sum = 0.0f, rest = 0.0f;
    for (std::size_t i = 0; i < known; ++i) sum += words[i].excess * words[i].best;
    for (std::size_t i = known; i < words.size(); ++i) rest += words[i].best > 0.0f ? words[i].excess : 0.0f;
    return sum + rest * costs_.far;
  }

  // `far` where some word without a vector can be moved to, else far_away.
  float serving(const std::vector<Word>& words, std::size_t known, bool residual) const {
    for (std::size_t i = known; i < words.size(); ++i) {
      if (!residual || words[i].excess > 0.0f) return costs_.far;
    }
    return far_away;
  }

  // A word without a vector costs nothing onto itself, where common mass is not taken away before.
  void stay(std::int32_t word, Word& b) {
    const std::int32_t same = job_.overlap == Overlap::keep ? place_[word] : -1;
    if (same >= 0) b.best = x_[at(same)].best = 0.0f;
  }

  const PairsJob& job_;
  Pace pace_;
  DenseRows costs_;
  std::int64_t vectors_;
  const std::int32_t* place_;
  LaneArray best_, penalty_;
  std::vector<Word> x_, y_;
};

double half_squared_difference(const CsrF& x, std::int64_t i, const CsrF& y, std::int64_t j) {
  std::int64_t a = x.indptr[i], b = y.indptr[j];
  const std::int64_t a_end = x.indptr[i + 1], b_end = y.indptr[j + 1];
  double sum = 0.0;
  while (a < a_end || b < b_end) {
    const std::int32_t p = a < a_end ? x.indices[a] : INT32_MAX, q = b < b_end ? y.indices[b] : INT32_MAX;
    const double left = p <= q ? static_cast<double>(x.data[a++]) : 0.0;
    const double right = q <= p ? static_cast<double>(y.data[b++]) : 0.0;
    sum += (left - right) * (left - right);
  }
  return 0.5 * sum;
}

PairsJob pairs_job(const FloatView& x, const FloatView& y, Overlap overlap, Side side, const Matrix& out) {
  require(out.length() == x.rows && out.length(1) == y.rows, "out has another shape than the documents");
  return {x, y, overlap, side, out.data(), row_stride(out)};
}

// Rel-RWMD: a table of the words that a document of x has or is related to, then one pass over y. Words that are in no
// table cost one addition.
void related_pairs(const FloatView& x, const FloatView& y, const FloatView& graph, float c_max, Overlap overlap,
                   Side side, const Matrix& out, int threads, const nb::object& progress) {
  require(x.columns == graph.rows && y.columns == graph.rows && graph.columns == graph.rows, "words must agree");
  const PairsJob job = pairs_job(x, y, overlap, side, out);
  constexpr std::int64_t documents_a_piece = 1024;
  const std::int64_t pieces = (y.rows + documents_a_piece - 1) / documents_a_piece, blocks = x.rows * pieces;
  const int limit = thread_limit(threads);
  const auto work = [&](Watch& watch) {
    std::vector<RelatedQuery> queries;
    for (int worker = 0; worker < worker_count(blocks, limit); ++worker) queries.emplace_back(job, graph, c_max);
    const auto body = [&](std::int64_t block, int worker) {
      RelatedQuery& query = queries[at(worker)];
      const std::int64_t row = block / pieces, begin = block % pieces * documents_a_piece;
      const std::int64_t end = std::min(begin + documents_a_piece, y.rows);
      query.begin(row);
      for (std::int64_t j = begin; j < end; ++j) job.out[row * job.stride + j] = query.value(j);
      watch.add_done(end - begin);
    };
    for_blocks(blocks, limit, body, watch);
  };
  run_native(work, progress, x.rows * y.rows);
}

// RWMD of one document x against all of y. `own[i]` is the number in y's numbering of the i-th word of x, or -1.
void dense_pairs(const FloatView& x, const FloatView& y, const In<float, 2>& costs, const In<std::int32_t>& own,
                 std::int64_t x_known, std::int64_t y_known, float far, Overlap overlap, Side side, const Matrix& out,
                 int threads) {
  const std::int64_t width = costs.length(1);
  require(x.rows == 1, "x must be one document");
  const std::int64_t words = x.indptr[1] - x.indptr[0];
  require(x_known >= 0 && x_known <= words, "x has no more known words than words");
  require(y_known >= 0 && y_known <= y.columns, "y has no more known words than words");
  require(width % 16 == 0 && width >= x_known, "costs needs a column for each known word of x, in sixteens");
  require(own.length() == words, "own needs a place for each word of x");
  require(costs.length() >= y_known, "costs needs a row for each known word of y");
  require(is_aligned(costs.data()), "arrays must be aligned to 64 bytes");
  const PairsJob job = pairs_job(x, y, overlap, side, out);
  const DenseRows rows{costs.data(), width, x_known, static_cast<std::int32_t>(y_known), far};
  run_native([&](Watch& watch) {
    std::vector<std::int32_t> place(at(y.largest) + 1, -1);
    for (std::int64_t i = 0; i < words; ++i) {
      const std::int32_t word = own.data()[i];
      if (word >= 0 && word <= y.largest) place[at(word)] = static_cast<std::int32_t>(i);
    }
    std::vector<DenseRow> workers(at(worker_count(y.rows, thread_limit(threads))),
                                  DenseRow(job, rows, place.data(), watch));
    for_ranges(y.rows, block_documents, thread_limit(threads), watch,
               [&](std::int64_t begin, std::int64_t end, int worker) {
                 for (std::int64_t j = begin; j < end; ++j) job.out[j] = workers[at(worker)].value(j);
               });
  });
}

// Computes the cosine distances below `limit` again, as |x - y|^2 / 2 of rows of length 1: exact 0 for equal rows.
void refine_cosine(const FloatView& x, const FloatView& y, float limit, const Matrix& out, int threads) {
  require(x.sorted && y.sorted, "the words of a document must rise");
  constexpr std::int64_t run = 256;  // few values are below the limit: runs without one are passed at a glance
  const PairsJob job = pairs_job(x, y, Overlap::omr, Side::both, out);
  run_blocks(x.rows, threads, [&](std::int64_t i, int, Watch& watch) {
    Pace pace(watch);
    float* const values = job.out + i * job.stride;
    for (std::int64_t start = 0; start < y.rows; start += run) {
      const std::int64_t stop = std::min(start + run, y.rows);
      bool any = false;
      for (std::int64_t j = start; j < stop; ++j) any |= values[j] < limit;
      pace.spend(stop - start);
      for (std::int64_t j = start; any && j < stop; ++j) {
        if (!(values[j] < limit)) continue;
        pace.spend(x.indptr[i + 1] - x.indptr[i] + y.indptr[j + 1] - y.indptr[j]);
        values[j] = static_cast<float>(half_squared_difference(x, i, y, j));
      }
    }
  });
}

}  // namespace

void bind_relaxed_pairs(nb::module_& m) {
  nb::enum_<Overlap>(m, "Overlap")
      .value("omr", Overlap::omr)
      .value("keep", Overlap::keep)
      .value("residual", Overlap::residual);
  nb::enum_<Side>(m, "Side").value("both", Side::both).value("left", Side::left).value("right", Side::right);
  m.def("related_pairs", &related_pairs, "x"_a, "y"_a, "graph"_a, "c_max"_a, "overlap"_a, "side"_a, "out"_in,
        "threads"_a, "progress"_a.none());
  m.def("dense_pairs", &dense_pairs, "x"_a, "y"_a, "costs"_in, "own"_in, "x_known"_a, "y_known"_a, "far"_a, "overlap"_a,
        "side"_a, "out"_in, "threads"_a);
  m.def("refine_cosine", &refine_cosine, "x"_a, "y"_a, "limit"_a, "out"_in, "threads"_a);
}

}  // namespace wordferry
