// SPDX-License-Identifier: Apache-2.0
//
// Stacks are private mappings without reserved swap.
#include "fpga_hls/runtime/stack_pool.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace tandem::hls_runtime {
namespace {

constexpr size_t kKeptStacks = 64;
constexpr size_t kKeptBytes = size_t{256} << 10;  // of a free stack, from its top

}  // namespace

StackPool::~StackPool() {
  for (const Stack& stack : free_) munmap(stack.guard, kGuardBytes + kStackBytes);
}

Stack StackPool::take() {
  if (!free_.empty()) {
    const Stack stack = free_.back();
    free_.pop_back();
    return stack;
  }
  constexpr size_t kBytes = kGuardBytes + kStackBytes;
  void* const place = mmap(nullptr, kBytes + kStackAlignment, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (place == MAP_FAILED) throw std::bad_alloc();
  char* const begin = static_cast<char*>(place);
  const size_t before = -reinterpret_cast<uintptr_t>(begin) % kStackAlignment;
  if (before != 0) munmap(begin, before);
  munmap(begin + before + kBytes, kStackAlignment - before);
  const Stack stack{begin + before};
  if (mprotect(stack.low(), kStackBytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(stack.guard, kBytes);
    throw std::bad_alloc();
  }
  return stack;
}

void StackPool::warm(size_t count, void (*prepare)(void* low, void* top)) {
  constexpr size_t kPage = 4096;
  std::vector<Stack> fresh;
  for (size_t made = 0; made < count; ++made) {
    Stack stack = take();
    for (size_t below = kPage; below <= kWarmBytes; below += kPage) {
      *static_cast<volatile char*>(stack.top() - below) = 0;
    }
    if (prepare != nullptr) prepare(stack.low(), stack.top());
    stack.is_clean = true;
    fresh.push_back(stack);
  }
  free_.insert(free_.end(), fresh.begin(), fresh.end());
}

void StackPool::give_back(Stack stack) {
  if (free_.size() >= kKeptStacks) {
    munmap(stack.guard, kGuardBytes + kStackBytes);
    return;
  }
  // Asking for touched pages is cheaper than releasing pages that were never touched.
  unsigned char resident = 0;
  char* const last_kept = stack.top() - kKeptBytes;
  if (mincore(last_kept, 1, &resident) != 0 || (resident & 1) != 0) {
    madvise(stack.low(), kStackBytes - kKeptBytes, MADV_DONTNEED);
  }
  free_.push_back(stack);
}

}  // namespace tandem::hls_runtime
