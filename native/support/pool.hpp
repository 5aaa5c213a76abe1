// Threads over blocks: the caller and helpers from a pool that lives as long as the process. Results never depend on
// the number of threads: a block's work is a function of its number alone, and every block writes its own part of the
// output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "support/watch.hpp"

namespace wordferry {

// Lets children of a fork, which have none of these threads, start their own; called once, when the module is loaded.
void prepare_for_forks();

// How many threads for_blocks uses, and so how many workspaces a body needs.
int worker_count(std::int64_t blocks, int threads);

// Calls body(block, worker) for block = 0 .. blocks-1 on up to `threads` threads; worker < threads numbers the
// thread, so that a body can keep a workspace per worker. The first exception of a body is rethrown here; when the
// watch says stop, Interrupted is.
void for_blocks(std::int64_t blocks, int threads, const std::function<void(std::int64_t, int)>& body, Watch& watch);

// Likewise calls body(begin, end, worker) for 0 .. count - 1 in pieces of `size`.
template <class Body>
void for_ranges(std::int64_t count, std::int64_t size, int threads, Watch& watch, const Body& body) {
  const auto piece = [&](std::int64_t block, int worker) {
    body(block * size, std::min(count, (block + 1) * size), worker);
  };
  for_blocks((count + size - 1) / size, threads, piece, watch);
}

}  // namespace wordferry
