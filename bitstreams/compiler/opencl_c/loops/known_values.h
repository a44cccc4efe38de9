// SPDX-License-Identifier: Apache-2.0
//
// Which values of a loop surely have a value, if those that come into the loop have one, and which
// accesses of it therefore need neither a check nor the bookkeeping of MemorySanitizer.
//
// A load has a value if its bytes have one before the loop and nothing in the loop may take it
// away. Threads: that of clang.
#pragma once

#include <set>
#include <vector>

#include "bitstreams/compiler/opencl_c/loops/access_span.h"

namespace tandem::opencl_loops {

class KnownValues {
 public:
  // `spans`: of the accesses whose bytes a look before the loop can cover.
  KnownValues(llvm::Loop& loop, const std::vector<Span>& spans);

  // Whether the look before the loop is enough for this instruction.
  bool is_known(const llvm::Instruction& instruction) const {
    return unknown_.count(&instruction) == 0;
  }
  // Values from before the loop that it uses. Those of unusual types are unknown.
  const std::vector<llvm::Value*>& entering() const { return entering_; }

 private:
  bool begins_unknown(const llvm::Instruction& instruction) const;
  bool uses_unknown(const llvm::Instruction& instruction) const;
  bool may_lose_value(const llvm::Instruction& load) const;
  bool can_enter(const llvm::Value& value) const;

  llvm::Loop& loop_;
  std::set<const llvm::Instruction*> covered_;
  std::set<const llvm::Instruction*> unknown_;
  std::vector<llvm::Value*> entering_;
};

}  // namespace tandem::opencl_loops
