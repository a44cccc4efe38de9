// SPDX-License-Identifier: Apache-2.0
//
// Replaces gpu_kernels/common/async_copy.cuh in the SIMT build.
//
// A copy is done when its thread waits for it, so a read that is too early gets old data. In
// shuffled order it is done at once, so a copy that is too early overwrites data in use.
#pragma once

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "gpu_kernels/simt/simt.h"

namespace tandem::gpu_kernels {

struct PendingCopy {
  void* to;
  const void* from;
  bool valid;
};

struct ThreadCopies {
  std::vector<PendingCopy> open;
  std::deque<std::vector<PendingCopy>> groups;
};

inline ThreadCopies& copies_of_thread() {
  static std::map<unsigned, std::vector<ThreadCopies>> of_machines;
  std::vector<ThreadCopies>& of_threads = of_machines[simt::machine_id()];
  if (of_threads.empty()) of_threads.resize(1024);
  return of_threads[threadIdx.x];
}

inline void do_copy(const PendingCopy& copy) {
  if (copy.valid) {
    std::memcpy(copy.to, copy.from, 16);
  } else {
    std::memset(copy.to, 0, 16);
  }
}

inline void copy_async_16(void* shared, const void* global, bool valid) {
  const auto aligned = [](const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
  };
  if (!aligned(shared) || !aligned(global)) std::abort();
  const PendingCopy copy{shared, global, valid};
  if (simt::order() == simt::Order::kShuffled) {
    do_copy(copy);
  } else {
    copies_of_thread().open.push_back(copy);
  }
}

inline void commit_copies() {
  ThreadCopies& own = copies_of_thread();
  own.groups.push_back(std::move(own.open));
  own.open.clear();
}

template <int kPending>
void wait_copies() {
  ThreadCopies& own = copies_of_thread();
  while (own.groups.size() > static_cast<std::size_t>(kPending)) {
    for (const PendingCopy& copy : own.groups.front()) do_copy(copy);
    own.groups.pop_front();
  }
}

}  // namespace tandem::gpu_kernels
