// Interrupts inside a block: bodies ask `stopped()` between problems and within long ones, so that Ctrl-C is heard
// within a fraction of a second even when one block runs for minutes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "pool.hpp"

namespace wordferry {

class Watch {
 public:
  explicit Watch(Poll poll)
      : poll_(std::move(poll)), caller_(std::this_thread::get_id()), last_(std::chrono::steady_clock::now()) {
    asked_ = [this] { return stopped(); };
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  const std::function<bool()>& asked() const { return asked_; }

  bool stopped() {
    if (stop_.load(std::memory_order_relaxed)) return true;
    if (std::this_thread::get_id() != caller_) return false;  // the caller polls inside for_blocks
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return false;
    last_ = now;
    return poll();
  }

  // for_blocks with this watch; a body that sees stopped() should throw Interrupted.
  void run(std::int64_t blocks, int threads, const std::function<void(std::int64_t, int)>& body) {
    for_blocks(blocks, threads, body, [this] { return poll(); });
  }

 private:
  bool poll() {
    if (!poll_ || !poll_()) return false;
    stop_.store(true, std::memory_order_relaxed);
    return true;
  }

  Poll poll_;
  std::function<bool()> asked_;
  std::thread::id caller_;
  std::chrono::steady_clock::time_point last_;
  std::atomic<bool> stop_{false};
};

}  // namespace wordferry
