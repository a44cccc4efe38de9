// SPDX-License-Identifier: Apache-2.0
//
// Begins with what is unknown and spreads it until nothing changes.
#include "bitstreams/compiler/opencl_c/loops/known_values.h"

#include "llvm/Analysis/ValueTracking.h"

namespace tandem::opencl_loops {
namespace {

bool is_access(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::StoreInst>(instruction);
}

// Whether two pointers lead to variables that are not the same.
bool are_apart(const llvm::Value* one, const llvm::Value* other) {
  const llvm::Value* const first = llvm::getUnderlyingObject(one);
  const llvm::Value* const second = llvm::getUnderlyingObject(other);
  const auto is_variable = [](const llvm::Value* object) {
    return llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object);
  };
  return first != second && is_variable(first) && is_variable(second);
}

// Whether a pointer leads to device memory, where no missing value stays: storing one is a finding.
bool is_in_device(const llvm::Value* pointer) {
  const auto* const from = llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(pointer));
  if (from == nullptr) return false;
  const llvm::MDNode* const spaces = from->getParent()->getMetadata("kernel_arg_addr_space");
  if (spaces == nullptr || from->getArgNo() >= spaces->getNumOperands()) return false;
  const auto* const space =
      llvm::mdconst::dyn_extract<llvm::ConstantInt>(spaces->getOperand(from->getArgNo()));
  constexpr uint64_t kGlobal = 1, kConstant = 2;
  return space != nullptr && (space->equalsInt(kGlobal) || space->equalsInt(kConstant));
}

}  // namespace

KnownValues::KnownValues(llvm::Loop& loop, const std::vector<Span>& spans) : loop_(loop) {
  for (const Span& span : spans) {
    for (const llvm::Instruction* const access : span.accesses) {
      if (!span.writes || span.is_whole) covered_.insert(access);
    }
  }
  std::vector<llvm::Instruction*> all;
  for (llvm::BasicBlock* const block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) all.push_back(&instruction);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const llvm::Instruction* const each : all) {
      if (!is_known(*each) || !(begins_unknown(*each) || uses_unknown(*each))) continue;
      unknown_.insert(each);
      changed = true;
    }
  }
  std::set<llvm::Value*> entering;
  for (const llvm::Instruction* const each : all) {
    if (!is_known(*each)) continue;
    for (const llvm::Use& use : each->operands()) {
      llvm::Value* const value = use.get();
      const auto* const made = llvm::dyn_cast<llvm::Instruction>(value);
      const bool enters = made != nullptr ? !loop.contains(made) : llvm::isa<llvm::Argument>(value);
      if (enters && !llvm::isa<llvm::AllocaInst>(value) && entering.insert(value).second) {
        entering_.push_back(value);
      }
    }
  }
}

bool KnownValues::can_enter(const llvm::Value& value) const {
  const auto* const made = llvm::dyn_cast<llvm::Instruction>(&value);
  const bool enters = made != nullptr ? !loop_.contains(made) : llvm::isa<llvm::Argument>(value);
  const llvm::Type& type = *value.getType();
  return !enters || type.isPointerTy() || type.isIntOrIntVectorTy() || type.isFPOrFPVectorTy();
}

bool KnownValues::begins_unknown(const llvm::Instruction& instruction) const {
  if (is_access(instruction)) {
    if (covered_.count(&instruction) == 0) return true;
    return llvm::isa<llvm::LoadInst>(instruction) && may_lose_value(instruction);
  }
  if (llvm::isa<llvm::CallBase>(instruction)) {
    return !llvm::isa<llvm::IntrinsicInst>(instruction) || instruction.mayReadOrWriteMemory();
  }
  return instruction.mayReadOrWriteMemory();
}

bool KnownValues::uses_unknown(const llvm::Instruction& instruction) const {
  for (const llvm::Value* const value : instruction.operand_values()) {
    if (!can_enter(*value)) return true;
    if (llvm::isa<llvm::UndefValue>(value)) return true;
    const auto* const made = llvm::dyn_cast<llvm::Instruction>(value);
    if (made != nullptr && !is_known(*made)) return true;
  }
  return false;
}

// Whether the loop may store something without a value where the load reads.
bool KnownValues::may_lose_value(const llvm::Instruction& load) const {
  const llvm::Value* const read = llvm::getLoadStorePointerOperand(&load);
  if (is_in_device(read)) return false;
  for (const llvm::Instruction* const each : unknown_) {
    const auto* const store = llvm::dyn_cast<llvm::StoreInst>(each);
    if (store == nullptr || are_apart(read, store->getPointerOperand())) continue;
    const llvm::Value* const value = store->getValueOperand();
    const auto* const made = llvm::dyn_cast<llvm::Instruction>(value);
    const bool is_unknown = (made != nullptr && !is_known(*made)) || !can_enter(*value) ||
                            llvm::isa<llvm::UndefValue>(value);
    if (is_unknown) return true;
  }
  return false;
}

}  // namespace tandem::opencl_loops
