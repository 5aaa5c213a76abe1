#include "support/pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace wordferry {

namespace {

void run_alone(std::int64_t blocks, const std::function<void(std::int64_t, int)>& body, Watch& watch) {
  for (std::int64_t block = 0; block < blocks; ++block) {
    watch.check();
    body(block, 0);
  }
}

}  // namespace

int worker_count(std::int64_t blocks, int threads) {
  return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(threads, blocks)));
}

void for_blocks(std::int64_t blocks, int threads, const std::function<void(std::int64_t, int)>& body, Watch& watch) {
  const int workers = worker_count(blocks, threads);
  if (workers <= 1) {
    run_alone(blocks, body, watch);
    return;
  }
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr failure;
  int running = workers;

  auto work = [&](int worker) {
    try {
      while (!stop.load(std::memory_order_relaxed)) {
        const std::int64_t block = next.fetch_add(1);
        if (block >= blocks) break;
        watch.check();
        body(block, worker);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
    const std::lock_guard lock(mutex);
    if (--running == 0) finished.notify_all();
  };

  std::vector<std::thread> pool;
  pool.reserve(static_cast<std::size_t>(workers));
  try {
    for (int worker = 0; worker < workers; ++worker) pool.emplace_back(work, worker);
  } catch (...) {  // the system gave us fewer threads than asked for: go on with those we have
    const std::lock_guard lock(mutex);
    running -= workers - static_cast<int>(pool.size());
    if (pool.empty()) failure = std::current_exception();
  }
  bool interrupted = false;
  {
    std::unique_lock lock(mutex);
    while (running > 0) {
      finished.wait_for(lock, poll_every);
      if (running > 0 && !interrupted) {
        lock.unlock();
        interrupted = watch.poll();
        lock.lock();
        if (interrupted) stop = true;
      }
    }
  }
  for (auto& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
  if (interrupted) throw Interrupted();
}

}  // namespace wordferry
