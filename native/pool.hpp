// Threads over blocks, with interrupts. Results never depend on the number of threads: a block's work is a
// function of its number alone, and every block writes its own part of the output.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>

namespace wordferry {

// Thrown by `for_blocks` when `poll` said stop.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// Asked on the calling thread about every 50 ms; true means stop after the blocks now running.
using Poll = std::function<bool()>;

// Calls body(block, worker) for block = 0 .. blocks-1 on up to `threads` threads; worker < threads numbers the
// thread, so that a body can keep a workspace per worker. The first exception of a body is rethrown here.
void for_blocks(std::int64_t blocks, int threads, const std::function<void(std::int64_t, int)>& body,
                const Poll& poll);

}  // namespace wordferry
