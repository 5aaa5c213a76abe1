#include "relaxed/scan.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace wordferry {

namespace {

// A word that the query has or is related to.
struct Touched {
  float near = 0.0f;
  float mass = 0.0f;
  std::int32_t own = -1;         // its position in the query, or -1
  std::int64_t begin = 0, end = 0;  // the query's words related to it, in `links`
};

struct Link {
  std::int32_t position;
  float cost;
};

// One query at a time; a worker keeps the memory for the next.
class Query {
 public:
  Query(const PairsJob& job, const CsrF& graph, float c_max)
      : job_(job), graph_(graph), c_max_(c_max), slots_(static_cast<std::size_t>(graph.rows), 0) {}

  void begin(std::int64_t row) {
    if (row == row_) return;
    row_ = row;
    for (const std::int32_t word : words_) slots_[static_cast<std::size_t>(word)] = 0;
    words_.clear();
    touched_.assign(1, {});
    found_.clear();
    masses_.clear();
    const std::int64_t first = job_.x.indptr[row], count = job_.x.indptr[row + 1] - first;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t word = job_.x.indices[first + i];
      masses_.push_back(job_.x.data[first + i]);
      Touched& own = touch(word);
      own.own = static_cast<std::int32_t>(i);
      own.mass = job_.overlap == Overlap::keep ? 0.0f : job_.x.data[first + i];
      if (job_.overlap == Overlap::keep) own.near = 0.0f;
      for (std::int64_t k = graph_.indptr[word]; k < graph_.indptr[word + 1]; ++k) {
        Touched& other = touch(graph_.indices[k]);
        other.near = std::min(other.near, graph_.data[k]);
        ++other.end;  // how many there are, for now
        found_.push_back({graph_.indices[k], {static_cast<std::int32_t>(i), graph_.data[k]}});
      }
    }
    sort_links();
    best_.resize(masses_.size());
    excess_.resize(masses_.size());
  }

  // The distance to document j.
  float value(std::int64_t j) {
    std::vector<float>&best = best_, &excess = excess_;
    std::fill(best.begin(), best.end(), c_max_);
    std::copy(masses_.begin(), masses_.end(), excess.begin());
    float near = 0.0f, rest = 0.0f;
    for (std::int64_t k = job_.y.indptr[j]; k < job_.y.indptr[j + 1]; ++k) {
      const std::uint32_t slot = slots_[static_cast<std::size_t>(job_.y.indices[k])];
      const float mass = job_.y.data[k];
      if (slot == 0) {
        rest += mass;
        continue;
      }
      const Touched& word = touched_[slot];
      near += std::max(mass - word.mass, 0.0f) * word.near;
      for (std::int64_t l = word.begin; l < word.end; ++l) {
        float& at = best[static_cast<std::size_t>(links_[static_cast<std::size_t>(l)].position)];
        at = std::min(at, links_[static_cast<std::size_t>(l)].cost);
      }
      if (word.own >= 0) own_word(static_cast<std::size_t>(word.own), mass, best, excess);
    }
    const float left = std::inner_product(excess.begin(), excess.end(), best.begin(), 0.0f);
    const float right = near + rest * c_max_;
    return job_.side == Side::left ? left : job_.side == Side::right ? right : std::max(left, right);
  }

 private:
  struct Found {
    std::int32_t word;
    Link link;
  };

  Touched& touch(std::int32_t word) {
    std::uint32_t& slot = slots_[static_cast<std::size_t>(word)];
    if (slot == 0) {
      slot = static_cast<std::uint32_t>(touched_.size());
      touched_.push_back({c_max_, 0.0f, -1});
      words_.push_back(word);
    }
    return touched_[slot];
  }

  // The links of each word together, in the order they were found in.
  void sort_links() {
    std::int64_t next = 0;
    for (Touched& word : touched_) {
      const std::int64_t count = word.end;
      word.begin = word.end = next;
      next += count;
    }
    links_.resize(static_cast<std::size_t>(next));
    for (const Found& one : found_) {
      links_[static_cast<std::size_t>(touched_[slots_[static_cast<std::size_t>(one.word)]].end++)] = one.link;
    }
  }

  void own_word(std::size_t i, float mass, std::vector<float>& best, std::vector<float>& excess) const {
    if (job_.overlap == Overlap::keep) {
      best[i] = 0.0f;
    } else {
      excess[i] = std::max(excess[i] - mass, 0.0f);
    }
  }

  const PairsJob& job_;
  const CsrF& graph_;
  float c_max_;
  std::int64_t row_ = -1;
  std::vector<std::uint32_t> slots_;  // of each word in touched_; 0 for the others
  std::vector<std::int32_t> words_;   // those with a slot
  std::vector<Touched> touched_;
  std::vector<Found> found_;
  std::vector<Link> links_;
  std::vector<float> masses_, best_, excess_;
};

}  // namespace

void related_scan(const PairsJob& job, const CsrF& graph, float c_max, int threads, std::atomic<std::int64_t>& done,
                  Watch& watch) {
  constexpr std::int64_t block_documents = 1024;
  const std::int64_t pieces = (job.y.rows + block_documents - 1) / block_documents, blocks = job.x.rows * pieces;
  std::vector<Query> queries(static_cast<std::size_t>(worker_count(blocks, threads)), Query(job, graph, c_max));
  const auto body = [&](std::int64_t block, int worker) {
    Query& query = queries[static_cast<std::size_t>(worker)];
    const std::int64_t row = block / pieces, begin = block % pieces * block_documents;
    const std::int64_t end = std::min(begin + block_documents, job.y.rows);
    query.begin(row);
    for (std::int64_t j = begin; j < end; ++j) job.out[row * job.stride + j] = query.value(j);
    done += end - begin;
  };
  for_blocks(blocks, threads, body, watch);
}

}  // namespace wordferry
