#include "relaxed/scan.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace wordferry {

namespace {

// A word that the query has or is related to.
struct Touched {
  float near;
  float mass;
  std::int32_t own;              // its position in the query, or -1
  std::int64_t begin = 0, end = 0;  // the query's words related to it, in `links`
};

struct Link {
  std::int32_t position;
  float cost;
};

class Query {
 public:
  Query(const PairsJob& job, const CsrF& graph, float c_max, std::int64_t row)
      : job_(job), c_max_(c_max), slots_(static_cast<std::size_t>(graph.rows), 0), touched_(1) {
    const std::int64_t first = job.x.indptr[row], count = job.x.indptr[row + 1] - first;
    std::vector<std::vector<Link>> links(1);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t word = job.x.indices[first + i];
      masses_.push_back(job.x.data[first + i]);
      Touched& own = at(word, links);
      own.own = static_cast<std::int32_t>(i);
      own.mass = job.overlap == Overlap::keep ? 0.0f : job.x.data[first + i];
      if (job.overlap == Overlap::keep) own.near = 0.0f;
      for (std::int64_t k = graph.indptr[word]; k < graph.indptr[word + 1]; ++k) {
        Touched& other = at(graph.indices[k], links);
        other.near = std::min(other.near, graph.data[k]);
        links[slots_[static_cast<std::size_t>(graph.indices[k])]].push_back({static_cast<std::int32_t>(i), graph.data[k]});
      }
    }
    for (std::size_t slot = 1; slot < touched_.size(); ++slot) {
      touched_[slot].begin = static_cast<std::int64_t>(links_.size());
      links_.insert(links_.end(), links[slot].begin(), links[slot].end());
      touched_[slot].end = static_cast<std::int64_t>(links_.size());
    }
  }

  // The distance to document j; `best` and `excess` are the worker's own.
  float value(std::int64_t j, std::vector<float>& best, std::vector<float>& excess) const {
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

  std::size_t words() const { return masses_.size(); }

 private:
  Touched& at(std::int32_t word, std::vector<std::vector<Link>>& links) {
    std::uint32_t& slot = slots_[static_cast<std::size_t>(word)];
    if (slot == 0) {
      slot = static_cast<std::uint32_t>(touched_.size());
      touched_.push_back({c_max_, 0.0f, -1});
      links.emplace_back();
    }
    return touched_[slot];
  }

  void own_word(std::size_t i, float mass, std::vector<float>& best, std::vector<float>& excess) const {
    if (job_.overlap == Overlap::keep) {
      best[i] = 0.0f;
    } else {
      excess[i] = std::max(excess[i] - mass, 0.0f);
    }
  }

  const PairsJob& job_;
  float c_max_;
  std::vector<std::uint32_t> slots_;
  std::vector<Touched> touched_;
  std::vector<Link> links_;
  std::vector<float> masses_;
};

}  // namespace

void related_scan(const PairsJob& job, const CsrF& graph, float c_max, int threads, std::atomic<std::int64_t>& done,
                  Watch& watch) {
  constexpr std::int64_t block_documents = 1024;
  for (std::int64_t row = 0; row < job.x.rows; ++row) {
    const Query query(job, graph, c_max, row);
    const auto body = [&](std::int64_t block, int) {
      std::vector<float> best(query.words()), excess(query.words());
      const std::int64_t begin = block * block_documents, end = std::min(begin + block_documents, job.y.rows);
      for (std::int64_t j = begin; j < end; ++j) job.out[row * job.stride + j] = query.value(j, best, excess);
      done += end - begin;
    };
    for_blocks((job.y.rows + block_documents - 1) / block_documents, threads, body, watch);
  }
}

}  // namespace wordferry
