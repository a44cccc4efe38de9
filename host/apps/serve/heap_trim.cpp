// SPDX-License-Identifier: Apache-2.0
//
// New memory shows in the resident size. Page faults would not tell: one may bring many pages.
#include "apps/serve/heap_trim.h"

#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstddef>
#include <fstream>

namespace tandem::apps {
namespace {

constexpr std::size_t kLeastGrowth = 1 << 20;

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void trim_heaps() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

bool HeapGrowth::has_grown() {
  const std::size_t now = resident_bytes();
  const bool has_grown = now >= before_ + kLeastGrowth;
  if (has_grown || now < before_) before_ = now;
  return has_grown;
}

HeapTrim::HeapTrim(std::chrono::milliseconds interval)
    : interval_(interval), thread_([this] { run(); }) {}

HeapTrim::~HeapTrim() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HeapTrim::run() {
  HeapGrowth growth;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval_, [this] { return ending_; })) {
    if (growth.has_grown()) trim_heaps();
  }
}

}  // namespace tandem::apps
