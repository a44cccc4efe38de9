// SPDX-License-Identifier: Apache-2.0
//
// HeapTrim: gives memory that is free in the C library's heaps back to the system, now and then.
//
// glibc keeps what large bodies and answers leave free, so the resident memory of a daemon would
// grow with the largest load it has seen. A thread of its own returns it. Between two times it
// waits for the interval, and does nothing while the process holds hardly more than before. A trim
// takes each heap's lock for about a millisecond. With other C libraries nothing happens.
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
  // Whether the process holds at least a MiB more than the last time it had grown, or than at its
  // least since then.
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
