// One query at a time against a whole collection.
#pragma once

#include <atomic>
#include <cstdint>

#include "relaxed/pairs.hpp"
#include "support/csr.hpp"
#include "support/pool.hpp"

namespace wordferry {

// Rel-RWMD of each document of job.x, one at a time, to all of job.y, by one pass over y: words that are neither in
// the query nor related to one of its words cost one addition. `residual` is not possible here.
void related_scan(const PairsJob& job, const CsrF& graph, float c_max, int threads, std::atomic<std::int64_t>& done,
                  Watch& watch);

}  // namespace wordferry
