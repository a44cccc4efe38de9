// SPDX-License-Identifier: Apache-2.0
//
// Branches of a loop that lead to clang's own handlers (an index outside of its array, an address
// that is not aligned), and what shows before the loop that none of their turns goes there.
//
// Threads: that of clang.
#pragma once

#include <vector>

#include "bitstreams/compiler/opencl_c/loops/access_span.h"

namespace tandem::opencl_loops {

// Shows that a number stays in [0, bound), or, if `bound` is null, has none of the bits of `mask`.
struct Proof {
  Linear number;
  const llvm::SCEV* bound = nullptr;  // 64 bits
  uint64_t mask = 0;
  llvm::Value* condition = nullptr;  // instead: is known before the loop, and must be `wanted`
  bool wanted = true;
};

struct SafeBranch {
  llvm::BranchInst* branch = nullptr;
  unsigned good = 0;  // the successor without a handler
  std::vector<Proof> proofs;
};

bool is_handler(const llvm::BasicBlock& block);
std::vector<SafeBranch> safe_branches(const llvm::Loop& loop, const LoopNumbers& numbers);

}  // namespace tandem::opencl_loops
