#include "relaxed/pairs.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "relaxed/dense.hpp"
#include "relaxed/touched.hpp"
#include "support/at.hpp"
#include "support/lanes.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t block_documents = 16;

struct Word {
  float excess;  // the mass that must move
  float best;    // the cost of the nearest word it may move to
};

// The sum of what words cost, word by word as `accumulate` does, so that both algorithms of RWMD come to the same bits.
float moved_one_by_one(const Word* words, std::size_t count) {
  float sum = 0.0f;
  for (std::size_t i = 0; i < count; ++i) sum += words[i].excess * words[i].best;
  return sum;
}

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
  float values[lane_count];
  std::memcpy(values, &least, sizeof values);
  for (int half = lane_count / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) values[i] = values[i + half] < values[i] ? values[i + half] : values[i];
  }
  return values[0];
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
  // What moving all words costs. Masses of words without a vector are multiples of 2^-24, so that their sum is exact.
  float moving(const std::vector<Word>& words, std::size_t known) const {
    float rest = 0.0f;
    for (std::size_t i = known; i < words.size(); ++i) rest += words[i].best > 0.0f ? words[i].excess : 0.0f;
    return moved_one_by_one(words.data(), known) + rest * costs_.far;
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

}  // namespace

void related_pairs(const PairsJob& job, const CsrF& graph, float c_max, int threads, Watch& watch) {
  constexpr std::int64_t documents_a_piece = 1024;
  const std::int64_t pieces = (job.y.rows + documents_a_piece - 1) / documents_a_piece, blocks = job.x.rows * pieces;
  std::vector<RelatedQuery> queries;
  for (int worker = 0; worker < worker_count(blocks, threads); ++worker) queries.emplace_back(job, graph, c_max);
  const auto body = [&](std::int64_t block, int worker) {
    RelatedQuery& query = queries[at(worker)];
    const std::int64_t row = block / pieces, begin = block % pieces * documents_a_piece;
    const std::int64_t end = std::min(begin + documents_a_piece, job.y.rows);
    query.begin(row);
    for (std::int64_t j = begin; j < end; ++j) job.out[row * job.stride + j] = query.value(j);
    watch.add_done(end - begin);
  };
  for_blocks(blocks, threads, body, watch);
}

void dense_pairs(const PairsJob& job, const DenseRows& costs, const std::int32_t* own, int threads, Watch& watch) {
  std::int32_t words = 0;
  for (std::int64_t k = job.y.indptr[0]; k < job.y.indptr[job.y.rows]; ++k) words = std::max(words, job.y.indices[k]);
  std::vector<std::int32_t> place(at(words) + 1, -1);
  for (std::int64_t i = 0; i < job.x.indptr[1] - job.x.indptr[0]; ++i) {
    if (own[i] >= 0 && own[i] <= words) place[at(own[i])] = static_cast<std::int32_t>(i);
  }
  const std::int64_t blocks = (job.y.rows + block_documents - 1) / block_documents;
  std::vector<DenseRow> rows(at(worker_count(blocks, threads)), DenseRow(job, costs, place.data(), watch));
  const auto body = [&](std::int64_t block, int worker) {
    const std::int64_t begin = block * block_documents, end = std::min(begin + block_documents, job.y.rows);
    for (std::int64_t j = begin; j < end; ++j) job.out[j] = rows[at(worker)].value(j);
  };
  for_blocks(blocks, threads, body, watch);
}

void refine_cosine(const PairsJob& job, float limit, int threads, Watch& watch) {
  constexpr std::int64_t run = 256;  // few values are below the limit: runs without one are passed at a glance
  const auto body = [&](std::int64_t i, int) {
    Pace pace(watch);
    for (std::int64_t start = 0; start < job.y.rows; start += run) {
      const std::int64_t stop = std::min(start + run, job.y.rows);
      float* values = job.out + i * job.stride;
      bool any = false;
      for (std::int64_t j = start; j < stop; ++j) any |= values[j] < limit;
      pace.spend(stop - start);
      if (!any) continue;
      for (std::int64_t j = start; j < stop; ++j) {
        if (!(values[j] < limit)) continue;
        pace.spend(job.x.indptr[i + 1] - job.x.indptr[i] + job.y.indptr[j + 1] - job.y.indptr[j]);
        values[j] = static_cast<float>(half_squared_difference(job.x, i, job.y, j));
      }
    }
  };
  for_blocks(job.x.rows, threads, body, watch);
}

}  // namespace wordferry
