// SPDX-License-Identifier: Apache-2.0
//
// New memory shows as minor page faults, which cost nothing to count.
#include "apps/serve/heap_trim.h"

#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tandem::apps {
namespace {

constexpr long kMinFaults = 256;  // pages of 4 KiB

void trim_heaps() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

bool HeapGrowth::has_grown() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_minflt - faults_before_ < kMinFaults) return false;
  faults_before_ = usage.ru_minflt;
  return true;
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
