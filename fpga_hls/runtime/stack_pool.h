// SPDX-License-Identifier: Apache-2.0
//
// Stacks for the processes of one compute unit: large, committed page by page on use.
//
// A kernel's local arrays represent on-chip memory, so a stack is as large as that of a large card.
// A guard region below each stack faults; it is wide, because one frame may skip many pages. The
// pool reuses the stacks of ended processes and releases their deep pages. Threads: one. Cost: two
// system calls for a new stack, one for a reused one.
#pragma once

#include <cstddef>
#include <vector>

namespace tandem::hls_runtime {

constexpr size_t kStackBytes = size_t{256} << 20;
constexpr size_t kGuardBytes = size_t{64} << 20;

struct Stack {
  char* guard = nullptr;  // [kGuardBytes], then [kStackBytes]
  char* low() const { return guard + kGuardBytes; }
  char* top() const { return low() + kStackBytes; }
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

 private:
  std::vector<Stack> free_;
};

}  // namespace tandem::hls_runtime
