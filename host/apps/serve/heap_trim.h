// SPDX-License-Identifier: Apache-2.0
//
// HeapTrim: a thread that regularly returns free heap memory of the C library to the system.
//
// glibc keeps the memory of large requests and responses after their release, so the resident
// memory of a daemon would stay at its peak. The thread waits for the interval between two trims,
// and does nothing if the process has hardly grown. A trim holds each heap's lock for about a
// millisecond. With other C libraries the class does nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace tandem::apps {

// Threads: one.
class HeapGrowth {
 public:
  // Returns whether the process holds at least 1 MiB more than its least amount since the last call
  // that returned true.
  bool has_grown();

 private:
  std::size_t before_ = 0;
};

class HeapTrim {
 public:
  explicit HeapTrim(std::chrono::milliseconds interval = std::chrono::seconds(30));
  ~HeapTrim();
  HeapTrim(const HeapTrim&) = delete;
  HeapTrim& operator=(const HeapTrim&) = delete;

 private:
  void run();

  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace tandem::apps
