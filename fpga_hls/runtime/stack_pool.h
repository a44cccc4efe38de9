// SPDX-License-Identifier: Apache-2.0
//
// Stacks for the processes of one compute unit: large, committed page by page as they are used.
//
// A kernel's local arrays stand for on-chip memory, so a stack takes what a large card has. Below
// each stack lies a guard that faults; it is wide, as one frame may skip many pages. Ended
// processes' stacks are kept for the next ones, less what was used far down. Threads: one. Cost:
// two system calls for a new stack, one for a reused one.
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
