#include "support/pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <signal.h>
#define WF_HAS_FORK 1
#endif

namespace wordferry {

namespace {

using Body = std::function<void(std::int64_t, int)>;

// One call of for_blocks. Helpers may come late, when it is over: they then leave it alone.
class Job {
 public:
  Job(std::int64_t blocks, const Body& body, Watch& watch) : blocks_(blocks), body_(&body), watch_(&watch) {}

  // Takes blocks until none is left, on the calling thread or on a helper.
  void work(int worker) {
    try {
      while (!stop_.load(std::memory_order_relaxed)) {
        const std::int64_t block = next_.fetch_add(1);
        if (block >= blocks_) break;
        watch_->check();
        (*body_)(block, worker);
      }
    } catch (...) {
      fail();
    }
  }

  // Stops everybody, with the exception that is being handled unless there was another before.
  void fail() {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    stop_ = true;
  }

  void help(int worker) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      ++helping_;
    }
    work(worker);
    const std::lock_guard lock(mutex_);
    if (--helping_ == 0) finished_.notify_all();
  }

  // Waits for the helpers that have begun, and lets no other begin; throws what was thrown in the job.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    while (helping_ > 0) {
      finished_.wait_for(lock, poll_every);
      if (helping_ == 0 || failure_) continue;
      lock.unlock();
      const bool told = watch_->poll();
      lock.lock();
      if (told && !failure_) failure_ = std::make_exception_ptr(Interrupted());
      if (told) stop_ = true;
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::int64_t blocks_;
  const Body* body_;  // the caller's, as the watch is: nobody looks at them once the job is closed
  Watch* watch_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable finished_;
  std::exception_ptr failure_;
  int helping_ = 0;
  bool closed_ = false;
};

// Signals are for Python's threads: a thread that is started within this scope gets none, but for those that its own
// faults send to it.
struct BlockedSignals {
#if defined(WF_HAS_FORK)
  sigset_t before;
  BlockedSignals() {
    sigset_t others;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&others, own);
    pthread_sigmask(SIG_BLOCK, &others, &before);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
#else
  BlockedSignals() {}
#endif
};

// Threads that wait for jobs, as many as were ever asked for at once. They live as long as the process.
class Pool {
 public:
  // Asks for `count` helpers of a job. Where the system gives no more threads, fewer come: the caller works too.
  void ask(const std::shared_ptr<Job>& job, int count) {
    const std::lock_guard lock(mutex_);
    wanted_ += count;
    for (int k = 0; k < count; ++k) tickets_.push_back({job, k + 1});
    while (threads_ < std::min(wanted_, most_threads) && start_thread()) {
    }
    count == 1 ? wake_.notify_one() : wake_.notify_all();
  }

  // Helpers that have not come yet need not come.
  void withdraw(const std::shared_ptr<Job>& job, int count) {
    const std::lock_guard lock(mutex_);
    wanted_ -= count;
    std::erase_if(tickets_, [&](const Ticket& ticket) { return ticket.job == job; });
  }

 private:
  struct Ticket {
    std::shared_ptr<Job> job;
    int worker;
  };
  static constexpr int most_threads = 1024;

  bool start_thread() {
    const BlockedSignals inherited;
    try {
      std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    ++threads_;
    return true;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return !tickets_.empty(); });
      {
        const Ticket ticket = std::move(tickets_.front());
        tickets_.pop_front();
        lock.unlock();
        ticket.job->help(ticket.worker);
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Ticket> tickets_;
  int threads_ = 0, wanted_ = 0;  // helpers of all the jobs that are open
};

std::atomic<Pool*> the_pool{nullptr};

// The pool of this process. It is never destroyed: its threads may be waiting when the process ends. A child of a fork
// has none of its parent's threads, so it makes a pool of its own.
Pool& pool() {
  Pool* known = the_pool.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto made = std::make_unique<Pool>();
  if (the_pool.compare_exchange_strong(known, made.get())) return *made.release();
  return *known;
}

}  // namespace

void prepare_for_forks() {
#if defined(WF_HAS_FORK)
  pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); });
#endif
}

int worker_count(std::int64_t blocks, int threads) {
  return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(threads, blocks)));
}

void for_blocks(std::int64_t blocks, int threads, const Body& body, Watch& watch) {
  const int workers = worker_count(blocks, threads);
  if (workers == 1) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      watch.check();
      body(block, 0);
    }
    return;
  }
  Pool& helpers = pool();
  const auto job = std::make_shared<Job>(blocks, body, watch);
  try {
    helpers.ask(job, workers - 1);
  } catch (...) {
    job->fail();
  }
  job->work(0);
  helpers.withdraw(job, workers - 1);
  job->close();
}

}  // namespace wordferry
