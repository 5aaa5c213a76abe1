// When to stop: Ctrl-C, or a token that another thread has set. Whatever can run for long asks its call's Watch, so
// that either is heard within a fraction of a second however large a block is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace wordferry {

// Thrown where work stops because it was told to.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// Asked on the calling thread about every 50 ms, with how much is done; true means stop.
using Poll = std::function<bool(std::int64_t)>;

constexpr auto poll_every = std::chrono::milliseconds(50);

// One for each call, shared by its workers.
class Watch {
 public:
  Watch(Poll poll, const std::atomic<bool>* cancelled)
      : poll_(std::move(poll)), cancelled_(cancelled), caller_(std::this_thread::get_id()),
        last_(std::chrono::steady_clock::now()) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Cheap enough for every microsecond of work, on any thread.
  bool stopped() {
    if (told()) return true;
    if (std::this_thread::get_id() != caller_) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < poll_every) return false;
    last_ = now;
    return poll();
  }

  void check() {
    if (stopped()) throw Interrupted();
  }

  // So much more is done, in the units in which progress is reported; on any thread.
  void add_done(std::int64_t count) { done_.fetch_add(count, std::memory_order_relaxed); }

  // Asks at once; on the calling thread only.
  bool poll() {
    if (told()) return true;
    if (!poll_(done_.load(std::memory_order_relaxed))) return false;
    stop_.store(true, std::memory_order_relaxed);
    return true;
  }

 private:
  bool told() const {
    return stop_.load(std::memory_order_relaxed) ||
           (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed));
  }

  Poll poll_;
  const std::atomic<bool>* cancelled_;
  std::thread::id caller_;
  std::chrono::steady_clock::time_point last_;
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> done_{0};
};

// Asks a Watch once for every batch of units of work (a unit takes about a nanosecond or less), for loops whose steps
// are too short to ask every time. Each worker has its own.
class Pace {
 public:
  explicit Pace(Watch& watch) : watch_(&watch) {}
  void spend(std::int64_t units) {
    left_ -= units;
    if (left_ >= 0) return;
    left_ = units_between_looks;
    watch_->check();
  }

 private:
  static constexpr std::int64_t units_between_looks = 1 << 20;
  Watch* watch_;
  std::int64_t left_ = units_between_looks;
};

}  // namespace wordferry
