// SPDX-License-Identifier: Apache-2.0
//
// Stacks for the processes of one compute unit: large, committed page by page on use.
//
// A kernel's local arrays represent on-chip memory, so a stack is as large as that of a large card.
// A guard region below each stack faults; it is wide, because one frame may skip many pages. The
// pool reuses the stacks of ended processes and releases their deep pages. Threads: one. Cost: four
// system calls for a new stack, one for a reused one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::hls_runtime {

constexpr size_t kStackBytes = size_t{256} << 20;
constexpr size_t kWarmBytes = size_t{32} << 10;  // of the first frames
constexpr size_t kGuardBytes = size_t{64} << 20;
// Of both ends of a stack. The card's maps have a byte for 8 bytes of memory, so those of a stack
// are whole pages.
constexpr size_t kStackAlignment = size_t{32} << 10;

struct Stack {
  char* guard = nullptr;  // [kGuardBytes], then [kStackBytes]
  bool is_clean = false;  // the last process returned, so no frame was unwound
  char* low() const { return guard + kGuardBytes; }
  char* top() const { return low() + kStackBytes; }
  bool holds(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return guard != nullptr && at - reinterpret_cast<uintptr_t>(low()) < kStackBytes;
  }
};

class StackPool {
 public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // Throws std::bad_alloc when the system has no address space left.
  Stack take();
  void give_back(Stack stack);
  // Adds new stacks, with the pages of their first frames. `prepare`, unless null, is called with
  // the ends of each, as for one that is not clean.
  void warm(size_t count, void (*prepare)(void* low, void* top));

 private:
  std::vector<Stack> free_;
};

}  // namespace tandem::hls_runtime
