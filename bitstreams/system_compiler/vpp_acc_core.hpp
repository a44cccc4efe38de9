// SPDX-License-Identifier: Apache-2.0
//
// Part of vpp_acc.hpp: buffers, jobs and their queues, threads of a program. C++17.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

inline std::mutex g_cout_mutex;

namespace vpp {

enum direction { input, output, bidirectional, remote };
enum transfer { h2c, p2p, m2m };
enum flow_t { sw_emu, hw_emu, hw };

inline flow_t flow_of(const char* mode) {
  return mode != nullptr && std::string(mode) == "hw_emu" ? hw_emu : sw_emu;
}
inline const flow_t flow = flow_of(std::getenv("XCL_EMULATION_MODE"));

struct BufferPool {
  int id;
  vpp::direction direction;
};

// Address space for a buffer that may grow; the system gives memory to the pages that are used.
class Buffer {
 public:
  Buffer()
      : memory_(mmap(nullptr, kMostBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Buffer() { munmap(memory_, kMostBytes); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data(std::size_t bytes) const {
    if (bytes > kMostBytes) throw std::length_error("VPP_ACC: a buffer has at most 1 GiB");
    return memory_;
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t(1) << 30;
  void* memory_;
};

struct Job {
  void* buffer(const BufferPool& pool, std::size_t bytes) { return shared(pool)->data(bytes); }
  std::shared_ptr<Buffer> shared(const BufferPool& pool) {
    std::shared_ptr<Buffer>& found = buffers[pool.id];
    if (!found) found = std::make_shared<Buffer>();
    return found;
  }
  bool is_empty() const { return buffers.empty() && finally.empty(); }

  std::map<int, std::shared_ptr<Buffer>> buffers;  // by pool
  std::vector<std::function<void()>> finally;      // after the computation
  char handle[8] = {};
};

// The job of the calling thread, one per accelerator.
template <typename Accelerator>
class Current {
 public:
  explicit Current(Job* job) : before_(current()) { current() = job; }
  ~Current() { current() = before_; }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  static Job& job(const char* accelerator) {
    if (current() == nullptr) {
      throw std::logic_error(std::string("VPP_ACC of ") + accelerator +
                             ": only send_while() and receive functions have buffers and a handle");
    }
    return *current();
  }

 private:
  static Job*& current() {
    static thread_local Job* job = nullptr;
    return job;
  }
  Job* before_;
};

class JobQueue {
 public:
  void open() { set_open(true); }
  void close() { set_open(false); }
  // After join() a receiver that starts again waits for the next sender.
  void joined() {
    const std::lock_guard<std::mutex> lock(mutex_);
    joined_ = true;
    dropped_ = false;
  }
  void receiving() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (joined_ && jobs_.empty()) was_open_ = false;
  }
  // Nobody takes jobs any more, so put() drops them until join() has waited for all.
  void drop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    dropped_ = true;
    jobs_.clear();
    changed_.notify_all();
  }
  void put(const std::shared_ptr<Job>& job) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return dropped_ || jobs_.size() < kMostJobs; });
    if (dropped_) return;
    jobs_.push_back(job);
    changed_.notify_all();
  }
  // The next job; null at the end.
  std::shared_ptr<Job> get() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !jobs_.empty() || (was_open_ && !open_); });
    if (jobs_.empty()) return nullptr;
    std::shared_ptr<Job> job = jobs_.front();
    jobs_.pop_front();
    changed_.notify_all();
    return job;
  }

 private:
  static constexpr std::size_t kMostJobs = 64;
  void set_open(bool open) {
    const std::lock_guard<std::mutex> lock(mutex_);
    was_open_ = true;
    open_ = open;
    joined_ = false;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool was_open_ = false, open_ = false, dropped_ = false, joined_ = false;
};

struct Ending {
  JobQueue& queue;
  ~Ending() { queue.close(); }
};
struct Joining {
  JobQueue& queue;
  ~Joining() { queue.joined(); }
};

class Threads {
 public:
  template <typename Body>
  void start(Body body) {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_.push_back(std::async(std::launch::async, std::move(body)));
  }
  void join() {
    std::vector<std::future<void>> running;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      running.swap(running_);
    }
    for (std::future<void>& each : running) each.get();
  }

 private:
  std::mutex mutex_;
  std::vector<std::future<void>> running_;
};

// A queue with room for some values, between threads of the program.
template <typename T>
class squeue {
 public:
  void init_size(std::size_t size) { size_ = size; }
  void put(const T& value) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return values_.size() < size_; });
    values_.push(value);
    changed_.notify_all();
  }
  T get() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !values_.empty(); });
    T value = values_.front();
    values_.pop();
    changed_.notify_all();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<T> values_;
  std::size_t size_ = 1;
};

inline std::future<void> done() {
  std::promise<void> promise;
  promise.set_value();
  return promise.get_future();
}

inline void read_all(int file, void* to, std::size_t bytes, std::size_t offset) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got =
        pread(file, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got == 0) throw std::runtime_error("VPP_ACC: a file ends before its buffer");
    if (got < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "VPP_ACC: read");
    if (got > 0) done += static_cast<std::size_t>(got);
  }
}
inline void write_all(int file, const void* from, std::size_t bytes, std::size_t offset) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t put = pwrite(file, static_cast<const char*>(from) + done, bytes - done,
                               static_cast<off_t>(offset + done));
    if (put < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "VPP_ACC: write");
    if (put > 0) done += static_cast<std::size_t>(put);
  }
}

// The processes of one call of compute(): threads that all end.
class Region {
 public:
  template <typename Body>
  void run(Body body) {
    processes_.push_back(std::async(std::launch::async, std::move(body)));
  }
  void join() {
    for (std::future<void>& each : processes_) each.get();
    processes_.clear();
  }

 private:
  std::vector<std::future<void>> processes_;
};

}  // namespace vpp
