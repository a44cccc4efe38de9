// SPDX-License-Identifier: Apache-2.0
//
// Calls follow each other without branches; one that failed is handed on to the next.
#include "bitstreams/compiler/opencl_c/loops/look_before.h"

namespace tandem::opencl_loops {
namespace {

constexpr uint64_t kStores = 1, kWhole = 2, kFailed = 4;  // of tandem_check_span_ok()
constexpr size_t kExtents = 2;

llvm::FunctionCallee function_of(llvm::Module& module, const char* name, llvm::Type* result,
                                 size_t words) {
  const std::vector<llvm::Type*> types(words, llvm::Type::getInt64Ty(module.getContext()));
  return module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
}

}  // namespace

void leave_alone(llvm::Value* value) {
  auto* const made = llvm::dyn_cast<llvm::Instruction>(value);
  if (made != nullptr) made->setMetadata("nosanitize", llvm::MDNode::get(made->getContext(), {}));
}

bool can_write(const Linear& number, llvm::ScalarEvolution& numbers) {
  if (!llvm::isSafeToExpand(number.low, numbers)) return false;
  for (const Extent& extent : number.extents) {
    if (!llvm::isSafeToExpand(extent.step, numbers)) return false;
    if (!llvm::isSafeToExpand(extent.turns, numbers)) return false;
  }
  return true;
}

LookBefore::LookBefore(llvm::Instruction& place, llvm::ScalarEvolution& numbers)
    : place_(place),
      builder_(&place),
      expander_(numbers, place.getModule()->getDataLayout(), "tandem"),
      result_(builder_.getTrue()) {}

llvm::Value* LookBefore::number(const llvm::SCEV* number) {
  return expander_.expandCodeFor(number, builder_.getInt64Ty(), &place_);
}

void LookBefore::also(llvm::Value* truth) {
  result_ = builder_.CreateAnd(result_, truth);
  leave_alone(result_);
}

// The states of the argument are those of all values in it.
llvm::Value* LookBefore::word_of(llvm::Value* value) {
  llvm::Type* const type = value->getType();
  if (type->isPointerTy()) return builder_.CreatePtrToInt(value, builder_.getInt64Ty());
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedSize());
  llvm::Value* const whole = builder_.CreateBitCast(value, builder_.getIntNTy(bits));
  if (bits <= 64) return builder_.CreateZExt(whole, builder_.getInt64Ty());
  llvm::Value* sum = builder_.getInt64(0);
  for (unsigned bit = 0; bit < bits; bit += 64) {
    sum = builder_.CreateAdd(
        sum, builder_.CreateTrunc(builder_.CreateLShr(whole, bit), builder_.getInt64Ty()));
  }
  return sum;
}

llvm::Value* LookBefore::ask(const char* function, const std::vector<llvm::Value*>& arguments) {
  llvm::CallInst* const answer = builder_.CreateCall(
      function_of(*place_.getModule(), function, builder_.getInt32Ty(), arguments.size()),
      arguments);
  llvm::Value* const truth = builder_.CreateICmpNE(answer, builder_.getInt32(0));
  leave_alone(truth);
  return truth;
}

void LookBefore::values(const std::vector<llvm::Value*>& entering) {
  llvm::Value* sum = builder_.getInt64(0);
  for (llvm::Value* const value : entering) sum = builder_.CreateAdd(sum, word_of(value));
  also(ask("tandem_cl_known", {sum}));
}

void LookBefore::add_extents(const Linear& linear, std::vector<llvm::Value*>& arguments) {
  for (size_t index = 0; index < kExtents; ++index) {
    const bool is_there = index < linear.extents.size();
    arguments.push_back(is_there ? number(linear.extents[index].step) : builder_.getInt64(0));
    arguments.push_back(is_there ? number(linear.extents[index].turns) : builder_.getInt64(0));
  }
}

void LookBefore::proof(const Proof& proof) {
  if (proof.condition != nullptr) {
    llvm::Value* const truth = proof.wanted ? proof.condition : builder_.CreateNot(proof.condition);
    if (!proof.wanted) leave_alone(truth);
    return also(truth);
  }
  if (proof.bound != nullptr) {
    std::vector<llvm::Value*> arguments = {number(proof.number.low), number(proof.bound)};
    add_extents(proof.number, arguments);
    return also(ask("tandem_cl_stays_below", arguments));
  }
  llvm::Value* bits = number(proof.number.low);
  for (const Extent& extent : proof.number.extents) {
    bits = builder_.CreateOr(bits, number(extent.step));
    leave_alone(bits);
  }
  llvm::Value* const rest = builder_.CreateAnd(bits, builder_.getInt64(proof.mask));
  leave_alone(rest);
  llvm::Value* const truth = builder_.CreateICmpEQ(rest, builder_.getInt64(0));
  leave_alone(truth);
  also(truth);
}

void LookBefore::branch(const SafeBranch& branch) {
  for (const Proof& each : branch.proofs) proof(each);
}

void LookBefore::span(const Span& span) {
  const uint64_t flags = (span.writes ? kStores : 0) | (span.is_whole ? kWhole : 0);
  llvm::Value* const failed =
      builder_.CreateSelect(result_, builder_.getInt64(flags), builder_.getInt64(flags | kFailed));
  leave_alone(failed);
  std::vector<llvm::Value*> arguments = {number(span.at.low), builder_.getInt64(span.size_bytes),
                                         failed};
  add_extents(span.at, arguments);
  const llvm::DebugLoc place = span.accesses.front()->getDebugLoc();
  builder_.SetCurrentDebugLocation(place);
  result_ = ask("tandem_check_span_ok", arguments);
  if (span.writes || span.is_whole) looked_.push_back({arguments, place, flags});
}

void LookBefore::note_spans(llvm::Instruction& place) {
  llvm::IRBuilder<> builder(&place);
  for (Looked& looked : looked_) {
    looked.arguments[2] = builder.getInt64(looked.flags);
    builder.SetCurrentDebugLocation(looked.place);
    builder.CreateCall(function_of(*place.getModule(), "tandem_cl_span_done", builder.getVoidTy(),
                                   looked.arguments.size()),
                       looked.arguments);
  }
}

}  // namespace tandem::opencl_loops
