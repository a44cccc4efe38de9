// SPDX-License-Identifier: Apache-2.0
//
// A condition is taken apart at its ands and ors. What is not understood is not shown.
#include "bitstreams/compiler/opencl_c/loops/front_end_checks.h"

#include "llvm/IR/PatternMatch.h"

namespace tandem::opencl_loops {
namespace {

using llvm::ICmpInst;
using namespace llvm::PatternMatch;

class Prover {
 public:
  Prover(const llvm::Loop& loop, const LoopNumbers& numbers) : loop_(loop), numbers_(numbers) {}

  // Whether `condition` is always `wanted` if the proofs hold.
  bool show(llvm::Value* condition, bool wanted) {
    llvm::Value *one = nullptr, *other = nullptr;
    if (loop_.isLoopInvariant(condition)) {
      proofs.push_back({{}, nullptr, 0, condition, wanted});
      return true;
    }
    if (match(condition, m_Not(m_Value(one)))) return show(one, !wanted);
    const bool is_both = wanted ? match(condition, m_LogicalAnd(m_Value(one), m_Value(other)))
                                : match(condition, m_LogicalOr(m_Value(one), m_Value(other)));
    if (is_both) return show(one, wanted) && show(other, wanted);
    auto* const compare = llvm::dyn_cast<ICmpInst>(condition);
    return compare != nullptr && show_compare(*compare, wanted);
  }

  std::vector<Proof> proofs;

 private:
  bool show_compare(ICmpInst& compare, bool wanted) {
    const ICmpInst::Predicate is = wanted ? compare.getPredicate() : compare.getInversePredicate();
    llvm::Value* const left = compare.getOperand(0);
    llvm::Value* const right = compare.getOperand(1);
    if (is == ICmpInst::ICMP_ULT) return show_below(left, right, 0);
    if (is == ICmpInst::ICMP_ULE) return show_below(left, right, 1);
    if (is == ICmpInst::ICMP_UGT) return show_below(right, left, 0);
    if (is == ICmpInst::ICMP_UGE) return show_below(right, left, 1);
    llvm::Value* number = nullptr;
    uint64_t mask = 0;
    const bool is_masked = is == ICmpInst::ICMP_EQ && match(right, m_Zero()) &&
                           match(left, m_And(m_Value(number), m_ConstantInt(mask)));
    return is_masked && show_without(number, mask);
  }

  // `more`: what the bound is greater than `limit`.
  bool show_below(llvm::Value* number, llvm::Value* limit, uint64_t more) {
    auto* const bound = llvm::dyn_cast<llvm::ConstantInt>(limit);
    const auto linear = numbers_.linear_of(number);
    constexpr uint64_t kMost = uint64_t{1} << 31;
    if (bound == nullptr || !linear || bound->getValue().ugt(kMost)) return false;
    llvm::Type* const word = llvm::Type::getInt64Ty(limit->getContext());
    proofs.push_back(
        {*linear, numbers_.numbers().getConstant(word, bound->getZExtValue() + more), 0, nullptr});
    return true;
  }

  bool show_without(llvm::Value* number, uint64_t mask) {
    llvm::Value* pointer = nullptr;
    if (match(number, m_PtrToInt(m_Value(pointer)))) number = pointer;
    const auto linear = numbers_.linear_of(number);
    if (!linear || (mask & (mask + 1)) != 0) return false;
    proofs.push_back({*linear, nullptr, mask, nullptr});
    return true;
  }

  const llvm::Loop& loop_;
  const LoopNumbers& numbers_;
};

}  // namespace

bool is_handler(const llvm::BasicBlock& block) {
  for (const llvm::Instruction& instruction : block) {
    const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || call->getCalledFunction() == nullptr) continue;
    if (call->getCalledFunction()->getName().startswith("__ubsan_handle_")) return true;
  }
  return false;
}

std::vector<SafeBranch> safe_branches(const llvm::Loop& loop, const LoopNumbers& numbers) {
  std::vector<SafeBranch> safe;
  for (llvm::BasicBlock* const block : loop.blocks()) {
    auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    const bool is_first = is_handler(*branch->getSuccessor(0));
    if (is_first == is_handler(*branch->getSuccessor(1))) continue;
    Prover prover(loop, numbers);
    if (!prover.show(branch->getCondition(), !is_first)) continue;
    safe.push_back({branch, is_first ? 1u : 0u, std::move(prover.proofs)});
  }
  return safe;
}

}  // namespace tandem::opencl_loops
