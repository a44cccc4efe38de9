// SPDX-License-Identifier: Apache-2.0
//
// LLVM's scalar evolution tells how a number changes from turn to turn.
#include "bitstreams/compiler/opencl_c/loops/access_span.h"

#include <algorithm>

namespace tandem::opencl_loops {
namespace {

constexpr size_t kMostExtents = 2;  // of tandem_check_span_ok()

bool is_same(const Linear& one, const Linear& other) {
  const auto same = [](const Extent& a, const Extent& b) {
    return a.step == b.step && a.turns == b.turns;
  };
  return std::equal(one.extents.begin(), one.extents.end(), other.extents.begin(),
                    other.extents.end(), same);
}

// By how much `span` begins behind `other`.
std::optional<int64_t> distance(const Span& other, const Span& span,
                                llvm::ScalarEvolution& numbers) {
  const auto* const difference =
      llvm::dyn_cast<llvm::SCEVConstant>(numbers.getMinusSCEV(span.at.low, other.at.low));
  if (difference == nullptr) return {};
  const int64_t bytes = difference->getAPInt().getSExtValue();
  const int64_t most = int64_t{1} << 30;
  return bytes > most || bytes < -most ? std::optional<int64_t>() : bytes;
}

bool is_at_same_line(const Span& one, const Span& other) {
  const llvm::DebugLoc first = one.accesses.front()->getDebugLoc();
  const llvm::DebugLoc second = other.accesses.front()->getDebugLoc();
  if (!first || !second) return !first && !second;
  return first.getLine() == second.getLine() && first.getScope() == second.getScope();
}

// Extends `span` by `other`, if there is no gap between.
bool join(Span& span, const Span& other, llvm::ScalarEvolution& numbers) {
  if (span.writes != other.writes || span.is_whole != other.is_whole) return false;
  if (!is_same(span.at, other.at) || !is_at_same_line(span, other)) return false;
  const auto behind = distance(span, other, numbers);
  if (!behind) return false;
  const auto size = static_cast<int64_t>(span.size_bytes);
  const auto others = static_cast<int64_t>(other.size_bytes);
  if (*behind > size || *behind + others < 0) return false;
  const int64_t begin = std::min<int64_t>(0, *behind);
  const int64_t end = std::max(size, *behind + others);
  if (begin < 0) span.at.low = other.at.low;
  span.size_bytes = static_cast<uint64_t>(end - begin);
  span.accesses.insert(span.accesses.end(), other.accesses.begin(), other.accesses.end());
  return true;
}

}  // namespace

const llvm::SCEV* LoopNumbers::as_word(const llvm::SCEV* number) const {
  llvm::Type* const word = llvm::Type::getInt64Ty(numbers_.getContext());
  if (number->getType()->isPointerTy()) return numbers_.getPtrToIntExpr(number, word);
  return numbers_.getTruncateOrSignExtend(number, word);
}

std::optional<Linear> LoopNumbers::linear_of(llvm::Value* value) const {
  if (!numbers_.isSCEVable(value->getType())) return {};
  if (numbers_.getTypeSizeInBits(value->getType()) > 64) return {};
  const llvm::SCEV* rest = numbers_.getSCEV(value);
  if (rest->getType()->isPointerTy()) rest = as_word(rest);
  if (llvm::isa<llvm::SCEVCouldNotCompute>(rest)) return {};
  llvm::Type* const word = llvm::Type::getInt64Ty(numbers_.getContext());
  Linear linear;
  while (const auto* const turning = llvm::dyn_cast<llvm::SCEVAddRecExpr>(rest)) {
    if (!loop_.contains(turning->getLoop())) break;
    if (!turning->isAffine() || linear.extents.size() == kMostExtents) return {};
    const llvm::SCEV* const turns = numbers_.getBackedgeTakenCount(turning->getLoop());
    const llvm::SCEV* const step = turning->getStepRecurrence(numbers_);
    if (llvm::isa<llvm::SCEVCouldNotCompute>(turns) || !is_known(turns) || !is_known(step))
      return {};
    if (numbers_.getTypeSizeInBits(turns->getType()) > 64) return {};
    linear.extents.push_back({as_word(step), numbers_.getTruncateOrZeroExtend(turns, word)});
    rest = turning->getStart();
  }
  if (!is_known(rest)) return {};
  linear.low = as_word(rest);
  return linear;
}

bool LoopNumbers::is_always_reached(const llvm::Instruction& access) const {
  for (llvm::Loop* around = loops_.getLoopFor(access.getParent());;
       around = around->getParentLoop()) {
    const llvm::BasicBlock* const latch = around->getLoopLatch();
    if (latch == nullptr || around->getExitingBlock() != latch) return false;
    if (!order_.dominates(access.getParent(), latch)) return false;
    if (llvm::isa<llvm::SCEVCouldNotCompute>(numbers_.getBackedgeTakenCount(around))) return false;
    if (around == &loop_) return true;
  }
}

std::optional<Span> LoopNumbers::span_of(llvm::Instruction& access) const {
  auto* const pointer = const_cast<llvm::Value*>(llvm::getLoadStorePointerOperand(&access));
  const llvm::TypeSize size =
      access.getModule()->getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(&access));
  const auto at = linear_of(pointer);
  if (!at || size.isScalable() || size.getFixedSize() == 0) return {};
  return Span{*at,
              size.getFixedSize(),
              llvm::isa<llvm::StoreInst>(access),
              is_always_reached(access),
              {&access}};
}

const llvm::SCEV* LoopNumbers::turns() const {
  const llvm::SCEV* const turns = numbers_.getBackedgeTakenCount(&loop_);
  return llvm::isa<llvm::SCEVCouldNotCompute>(turns) || !is_known(turns) ? nullptr : turns;
}

bool LoopNumbers::is_in_each_turn(const llvm::Instruction& access) const {
  const llvm::BasicBlock* const latch = loops_.getLoopFor(access.getParent())->getLoopLatch();
  return latch != nullptr && order_.dominates(access.getParent(), latch);
}

uint64_t LoopNumbers::turns_inside(const llvm::Instruction& access, uint64_t usual) const {
  uint64_t turns = 1;
  const llvm::Loop* inside = loops_.getLoopFor(access.getParent());
  for (; inside != &loop_; inside = inside->getParentLoop()) turns *= usual;
  return turns;
}

std::vector<Span> joined(std::vector<Span> spans, llvm::ScalarEvolution& numbers) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t one = 0; one < spans.size(); ++one) {
      for (size_t other = one + 1; other < spans.size();) {
        if (!join(spans[one], spans[other], numbers)) {
          ++other;
          continue;
        }
        spans.erase(spans.begin() + static_cast<std::ptrdiff_t>(other));
        changed = true;
      }
    }
  }
  return spans;
}

}  // namespace tandem::opencl_loops
