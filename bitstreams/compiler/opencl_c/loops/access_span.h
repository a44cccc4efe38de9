// SPDX-License-Identifier: Apache-2.0
//
// What a loop does to memory: the bytes that an access in it reaches, as numbers that are known
// before the loop.
//
// A number in a loop is `low + step * turn` for each loop around it whose turns change it. Only
// such numbers are known. Threads: that of clang.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bitstreams/compiler/opencl_c/loops/llvm_headers.h"

namespace tandem::opencl_loops {

// One loop that changes a number; `turns` is how often it goes back. 64 bits each.
struct Extent {
  const llvm::SCEV* step = nullptr;
  const llvm::SCEV* turns = nullptr;
};

struct Linear {
  const llvm::SCEV* low = nullptr;  // 64 bits: in the first turns
  std::vector<Extent> extents;
};

// Accesses of the same kind whose bytes lie side by side.
struct Span {
  Linear at;
  uint64_t size_bytes = 0;
  bool writes = false;
  bool is_whole = false;  // the loop surely reaches each of the bytes
  std::vector<llvm::Instruction*> accesses;
};

class LoopNumbers {
 public:
  LoopNumbers(llvm::Loop& loop, llvm::LoopInfo& loops, llvm::ScalarEvolution& numbers,
              llvm::DominatorTree& order)
      : loop_(loop), loops_(loops), numbers_(numbers), order_(order) {}

  // Of a number or a pointer; none: it is not known before the loop.
  std::optional<Linear> linear_of(llvm::Value* value) const;
  // Of a load or a store.
  std::optional<Span> span_of(llvm::Instruction& access) const;
  bool is_known(const llvm::SCEV* number) const {
    return numbers_.isAvailableAtLoopEntry(number, &loop_);
  }
  // How often the loop goes back; null: it is not known before it.
  const llvm::SCEV* turns() const;
  // Whether each turn of the innermost loop around it makes the access.
  bool is_in_each_turn(const llvm::Instruction& access) const;
  // How often an access is made in a turn, if each loop inside makes `usual` turns.
  uint64_t turns_inside(const llvm::Instruction& access, uint64_t usual) const;
  llvm::ScalarEvolution& numbers() const { return numbers_; }

 private:
  bool is_always_reached(const llvm::Instruction& access) const;
  const llvm::SCEV* as_word(const llvm::SCEV* number) const;

  llvm::Loop& loop_;
  llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& numbers_;
  llvm::DominatorTree& order_;
};

// Joins spans whose bytes lie side by side.
std::vector<Span> joined(std::vector<Span> spans, llvm::ScalarEvolution& numbers);

}  // namespace tandem::opencl_loops
