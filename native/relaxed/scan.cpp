#include "relaxed/scan.hpp"

#include <algorithm>
#include <vector>

#include "relaxed/touched.hpp"

namespace wordferry {

namespace {

// One query at a time; a worker keeps the memory for the next.
class Query {
 public:
  Query(const PairsJob& job, const CsrF& graph, float c_max)
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

}  // namespace

void related_scan(const PairsJob& job, const CsrF& graph, float c_max, int threads, std::atomic<std::int64_t>& done,
                  Watch& watch) {
  constexpr std::int64_t block_documents = 1024;
  const std::int64_t pieces = (job.y.rows + block_documents - 1) / block_documents, blocks = job.x.rows * pieces;
  std::vector<Query> queries;
  queries.reserve(static_cast<std::size_t>(worker_count(blocks, threads)));
  while (queries.size() < queries.capacity()) queries.emplace_back(job, graph, c_max);
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
