#include "transport/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "support/at.hpp"
#include "support/best.hpp"
#include "support/pool.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t others_a_block = 256;
constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr double bound_slack = 1e-9;  // what rounding may add to a dual bound, relative

// One evaluator a worker, made when the worker first has something to do.
class Workers {
 public:
  Workers(const MakePairs& make, int threads, Watch& watch) : make_(make), watch_(watch), pairs_(at(threads)) {}
  Pairs& operator[](int worker) {
    auto& pairs = pairs_[at(worker)];
    if (!pairs) pairs = make_(watch_);
    return *pairs;
  }

 private:
  const MakePairs& make_;
  Watch& watch_;
  std::vector<std::unique_ptr<Pairs>> pairs_;
};

// Values at or above this cannot enter, whatever their row.
double limit_of(const NearestHits& nearest) {
  return nearest.full() ? std::nextafterf(nearest.worst(), std::numeric_limits<float>::infinity()) : no_limit;
}

// The allowed rows of y with their bounds.
std::vector<NearRow> bounded_rows(const Bounded& ranked, std::int64_t query) {
  std::vector<NearRow> rows;
  rows.reserve(at(ranked.others));
  for (std::int64_t row = 0; row < ranked.others; ++row) {
    if (ranked.allowed[row]) rows.push_back({ranked.bounds[query * ranked.others + row], row});
  }
  return rows;
}

void search_one(Pairs& pairs, std::int64_t query, const Bounded& candidates, const Hits& found, Watch& watch) {
  std::int64_t* counts = found.counts + 4 * query;
  NearestHits nearest(candidates.k);
  double unproved = no_limit;  // the least bound among rows left unsolved
  pairs.begin(query, 0);
  for (RisingRows queue(bounded_rows(candidates, query)); !queue.empty(); queue.pop()) {
    const NearRow next = queue.first();
    const double first_bound = next.value - candidates.slack;
    if (!(first_bound < limit_of(nearest)) && !(next.value == no_limit && !nearest.full())) break;
    watch.check();
    ++counts[2];
    double bound = pairs.bound(next.row);
    bound = std::max(first_bound, bound - bound_slack * std::fabs(bound));
    if (!(bound < limit_of(nearest)) && nearest.full()) {
      ++counts[1];
      continue;
    }
    if (counts[0] == candidates.budget) {
      unproved = std::min(unproved, bound);
      ++counts[3];
      if (!nearest.full()) break;  // nothing more can be ruled out
      continue;
    }
    ++counts[0];
    nearest.offer(static_cast<float>(pairs.solve(next.row)), next.row);
  }
  const std::vector<NearRow> hits = std::move(nearest).sorted();
  for (std::int64_t place = 0; place < candidates.k; ++place) {
    const std::int64_t slot = query * candidates.k + place;
    const bool here = place < static_cast<std::int64_t>(hits.size());
    const NearRow hit = here ? hits[at(place)] : NearRow{std::numeric_limits<float>::infinity(), -1};
    found.rows[slot] = hit.row;
    found.values[slot] = hit.value;
    const double above = std::nextafterf(hit.value, std::numeric_limits<float>::infinity());
    found.proved[slot] = unproved == no_limit || (here && above <= unproved);
  }
}

}  // namespace

void all_pairs(const MakePairs& make, std::int64_t queries, std::int64_t others, bool symmetric, std::int64_t offset,
               float* out, int threads, Watch& watch) {
  const std::int64_t pieces = (others + others_a_block - 1) / others_a_block;
  Workers workers(make, worker_count(queries * pieces, threads), watch);
  for_blocks(
      queries * pieces, threads,
      [&](std::int64_t block, int worker) {
        Pairs& pairs = workers[worker];
        const std::int64_t query = block / pieces, first = block % pieces * others_a_block;
        const std::int64_t last = std::min(others, first + others_a_block);
        const std::int64_t begin = symmetric ? std::max(first, query + offset) : first;
        if (begin >= last) return;
        pairs.begin(query, others);
        for (std::int64_t other = begin; other < last; ++other) {
          watch.check();
          out[query * others + other] = static_cast<float>(pairs.solve(other));
        }
      },
      watch);
}

void search(const MakePairs& make, std::int64_t queries, const Bounded& candidates, const Hits& found, int threads,
            Watch& watch) {
  Workers workers(make, worker_count(queries, threads), watch);
  for_blocks(
      queries, threads,
      [&](std::int64_t query, int worker) { search_one(workers[worker], query, candidates, found, watch); }, watch);
}

}  // namespace wordferry
