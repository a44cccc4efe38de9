// SPDX-License-Identifier: Apache-2.0
//
// A loop is copied with all loops inside. Afterwards the analyses are made anew.
#include "bitstreams/compiler/opencl_c/loops/loop_version.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bitstreams/compiler/opencl_c/loops/access_span.h"
#include "bitstreams/compiler/opencl_c/loops/front_end_checks.h"
#include "bitstreams/compiler/opencl_c/loops/known_values.h"
#include "bitstreams/compiler/opencl_c/loops/look_before.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"

namespace tandem::opencl_loops {
namespace {

constexpr size_t kMostInstructions = 2000;
constexpr size_t kMostSpans = 24;
// A look at a span takes as long as the checks of so many accesses.
constexpr uint64_t kSpanCost = 20;
constexpr uint64_t kUsualTurns = 8;  // of loops inside

// Whether the copy of a loop may do it without changing the states of memory unseen.
bool is_harmless(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr) {
    return llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::StoreInst>(instruction) ||
           !instruction.mayReadOrWriteMemory();
  }
  return llvm::isa<llvm::DbgInfoIntrinsic>(call) || call->doesNotAccessMemory() ||
         is_handler(*instruction.getParent());
}

bool can_copy(const llvm::Loop& loop, const llvm::DominatorTree& order) {
  if (!loop.isLoopSimplifyForm() || !loop.isLCSSAForm(order) || !loop.isSafeToClone()) return false;
  size_t count = 0;
  for (const llvm::BasicBlock* const block : loop.blocks()) {
    count += block->size();
    for (const llvm::Instruction& instruction : *block) {
      if (!is_harmless(instruction)) return false;
    }
  }
  return count <= kMostInstructions;
}

bool is_plain_access(const llvm::Instruction& instruction) {
  if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    return load->isSimple();
  }
  const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store != nullptr && store->isSimple();
}

std::vector<Span> spans_of(const llvm::Loop& loop, const LoopNumbers& numbers) {
  std::vector<Span> spans;
  for (llvm::BasicBlock* const block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (!is_plain_access(instruction)) continue;
      const auto span = numbers.span_of(instruction);
      const bool is_usable = span && (!span->writes || span->is_whole);
      if (is_usable && can_write(span->at, numbers.numbers())) spans.push_back(*span);
    }
  }
  return spans;
}

class LoopVersion {
 public:
  LoopVersion(llvm::Loop& loop, const LoopNumbers& numbers)
      : loop_(loop),
        numbers_(numbers),
        spans_(spans_of(loop, numbers)),
        known_(loop, spans_),
        before_(*loop.getLoopPreheader()) {
    for (SafeBranch& branch : safe_branches(loop, numbers)) {
      if (can_show(branch)) branches_.push_back(std::move(branch));
    }
    keep_known();
    spans_ = joined(std::move(spans_), numbers.numbers());
  }

  bool is_useful() const {
    return !spans_.empty() && spans_.size() <= kMostSpans && covers_inner_loops();
  }

  // Returns the blocks of the version without checks.
  std::vector<llvm::BasicBlock*> make() {
    llvm::BasicBlock& slow = block("tandem.slow", loop_.getHeader());
    llvm::Instruction& end = skip_short_loops(slow);
    LookBefore look(end, numbers_.numbers());
    if (!known_.entering().empty()) look.values(known_.entering());
    for (const SafeBranch& branch : branches_) look.branch(branch);
    for (const Span& span : spans_) look.span(span);
    copy();
    llvm::BasicBlock& fast = block("tandem.fast", copied(loop_.getHeader()));
    look.note_spans(*fast.getTerminator());
    copied(loop_.getHeader())->replacePhiUsesWith(&before_, &fast);
    loop_.getHeader()->replacePhiUsesWith(&before_, &slow);
    leave_alone(llvm::BranchInst::Create(&fast, &slow, look.result(), &end));
    end.eraseFromParent();
    join_exits();
    drop_checks();
    std::vector<llvm::BasicBlock*> made;
    for (llvm::BasicBlock* const each : loop_.blocks()) made.push_back(copied(each));
    return made;
  }

 private:
  // Otherwise the loops inside are better off with looks of their own, unless those cannot cover
  // more: stores of some turns only.
  bool covers_inner_loops() const {
    for (const llvm::Loop* const inner : loop_.getSubLoops()) {
      for (const llvm::BasicBlock* const each : inner->blocks()) {
        for (const llvm::Instruction& instruction : *each) {
          if (!is_plain_access(instruction) || known_.is_known(instruction)) continue;
          const bool is_store = llvm::isa<llvm::StoreInst>(instruction);
          if (!is_store || numbers_.is_in_each_turn(instruction)) return false;
        }
      }
    }
    return true;
  }

  bool can_show(const SafeBranch& branch) const {
    for (const Proof& proof : branch.proofs) {
      if (proof.condition == nullptr && !can_write(proof.number, numbers_.numbers())) return false;
    }
    return true;
  }

  // Spans without an access that the look would free from its checks are not looked at.
  void keep_known() {
    std::vector<Span> kept;
    for (Span& span : spans_) {
      if (known_.is_known(*span.accesses.front())) kept.push_back(std::move(span));
    }
    spans_ = std::move(kept);
  }

  // How many accesses the look frees in a turn.
  uint64_t freed_accesses() const {
    uint64_t freed = 0;
    for (const Span& span : spans_) {
      for (const llvm::Instruction* const access : span.accesses) {
        freed += numbers_.turns_inside(*access, kUsualTurns);
      }
    }
    return freed;
  }

  // Where the look begins: in the preheader, or behind a branch there for loops with few turns.
  llvm::Instruction& skip_short_loops(llvm::BasicBlock& slow) {
    llvm::Instruction& end = *before_.getTerminator();
    const llvm::SCEV* const turns = numbers_.turns();
    if (turns == nullptr || !llvm::isSafeToExpand(turns, numbers_.numbers())) return end;
    llvm::BasicBlock& look = block("tandem.look", loop_.getHeader());
    llvm::SCEVExpander expander(numbers_.numbers(), end.getModule()->getDataLayout(), "tandem");
    llvm::Value* const count = expander.expandCodeFor(turns, turns->getType(), &end);
    auto* const is_long = new llvm::ICmpInst(
        &end, llvm::ICmpInst::ICMP_UGE, count,
        llvm::ConstantInt::get(turns->getType(), kSpanCost * spans_.size() / freed_accesses()));
    leave_alone(is_long);
    leave_alone(llvm::BranchInst::Create(&look, &slow, is_long, &end));
    end.eraseFromParent();
    return *look.getTerminator();
  }

  llvm::BasicBlock* copied(llvm::BasicBlock* block) const {
    return llvm::cast<llvm::BasicBlock>(copies_.lookup(block));
  }

  llvm::BasicBlock& block(const char* name, llvm::BasicBlock* next) const {
    llvm::BasicBlock* const made =
        llvm::BasicBlock::Create(before_.getContext(), name, before_.getParent(), next);
    llvm::BranchInst::Create(next, made)->setDebugLoc(before_.getTerminator()->getDebugLoc());
    return *made;
  }

  void copy() {
    llvm::SmallVector<llvm::BasicBlock*, 16> made;
    for (llvm::BasicBlock* const each : loop_.blocks()) {
      made.push_back(llvm::CloneBasicBlock(each, copies_, ".fast", before_.getParent()));
      copies_[each] = made.back();
    }
    llvm::remapInstructionsInBlocks(made, copies_);
  }

  void join_exits() const {
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop_.getUniqueExitBlocks(exits);
    for (llvm::BasicBlock* const exit : exits) {
      for (llvm::PHINode& joins : exit->phis()) {
        const unsigned count = joins.getNumIncomingValues();
        for (unsigned index = 0; index < count; ++index) {
          if (!loop_.contains(joins.getIncomingBlock(index))) continue;
          llvm::Value* const value = joins.getIncomingValue(index);
          llvm::Value* const other = copies_.lookup(value);
          joins.addIncoming(other != nullptr ? other : value,
                            copied(joins.getIncomingBlock(index)));
        }
      }
    }
  }

  void drop_checks() const {
    for (llvm::BasicBlock* const each : loop_.blocks()) {
      for (llvm::Instruction& instruction : *each) {
        if (known_.is_known(instruction)) leave_alone(copies_.lookup(&instruction));
      }
    }
    for (const SafeBranch& safe : branches_) {
      auto* const branch = llvm::cast<llvm::BranchInst>(copies_.lookup(safe.branch));
      branch->getSuccessor(1 - safe.good)->removePredecessor(branch->getParent());
      llvm::BranchInst::Create(branch->getSuccessor(safe.good), branch)
          ->setDebugLoc(branch->getDebugLoc());
      branch->eraseFromParent();
    }
  }

  llvm::Loop& loop_;
  const LoopNumbers& numbers_;
  std::vector<Span> spans_;
  const KnownValues known_;
  std::vector<SafeBranch> branches_;
  llvm::BasicBlock& before_;
  llvm::ValueToValueMapTy copies_;
};

}  // namespace

bool version_loops(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  std::set<const llvm::BasicBlock*> finished;  // headers, and all blocks of fast versions
  bool is_changed = false;
  for (bool again = true; again;) {
    again = false;
    auto& order = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    auto& scalars = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    for (llvm::Loop* const loop : loops.getLoopsInPreorder()) {
      if (!finished.insert(loop->getHeader()).second || !can_copy(*loop, order)) continue;
      const LoopNumbers numbers(*loop, loops, scalars, order);
      LoopVersion version(*loop, numbers);
      if (!version.is_useful()) continue;
      for (const llvm::BasicBlock* const block : version.make()) finished.insert(block);
      is_changed = again = true;
      break;
    }
    if (again) analyses.invalidate(function, llvm::PreservedAnalyses::none());
  }
  if (is_changed) llvm::removeUnreachableBlocks(function);
  return is_changed;
}

}  // namespace tandem::opencl_loops
