// SPDX-License-Identifier: Apache-2.0
//
// Writes the look before a loop: calls that tell whether its version without checks may run, and
// those that note what it will do.
//
// The functions are those of the card (tandem_check_span_ok), of the copy's other half
// (glue/opencl_c/checked_loops.h) and of access_functions.h (tandem_cl_known). Threads: that of
// clang.
#pragma once

#include <vector>

#include "bitstreams/compiler/opencl_c/loops/access_span.h"
#include "bitstreams/compiler/opencl_c/loops/front_end_checks.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace tandem::opencl_loops {

// Whether all numbers of it can be computed anywhere.
bool can_write(const Linear& number, llvm::ScalarEvolution& numbers);

// Gives an instruction, or the result of a folded one, the mark that passes leave it alone.
void leave_alone(llvm::Value* value);

class LookBefore {
 public:
  // Writes before `place`, the end of the loop's preheader.
  LookBefore(llvm::Instruction& place, llvm::ScalarEvolution& numbers);

  void values(const std::vector<llvm::Value*>& entering);
  void branch(const SafeBranch& branch);
  void span(const Span& span);
  // Of the spans so far, before `place`.
  void note_spans(llvm::Instruction& place);
  // A truth value, true if all of it holds.
  llvm::Value* result() const { return result_; }

 private:
  struct Looked {
    std::vector<llvm::Value*> arguments;
    llvm::DebugLoc place;
    uint64_t flags;
  };
  llvm::Value* word_of(llvm::Value* value);
  llvm::Value* number(const llvm::SCEV* number);
  void add_extents(const Linear& number, std::vector<llvm::Value*>& arguments);
  llvm::Value* ask(const char* function, const std::vector<llvm::Value*>& arguments);
  void also(llvm::Value* truth);
  void proof(const Proof& proof);

  llvm::Instruction& place_;
  llvm::IRBuilder<> builder_;
  llvm::SCEVExpander expander_;
  llvm::Value* result_;
  std::vector<Looked> looked_;
};

}  // namespace tandem::opencl_loops
