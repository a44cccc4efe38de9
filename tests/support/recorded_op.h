// SPDX-License-Identifier: Apache-2.0
//
// RecordedOp: an operation with lists of its own, for doubles that keep it after enqueue().
//
// It is general over operations (device/op_operands.h): a new one costs doubles nothing. Ownership:
// borrows buffers and weights.
#pragma once

#include <memory>

#include "device/op_operands.h"

namespace tandem::test {

class RecordedOp {
 public:
  explicit RecordedOp(const device::Op& op) {
    SameOperands same;
    op_ = device::map_operands(op, *lists_, same);
  }
  // With other operands.
  RecordedOp(const device::Op& op, device::OperandMap& map)
      : op_(device::map_operands(op, *lists_, map)) {}

  const device::Op& op() const { return op_; }

 private:
  class SameOperands final : public device::OperandMap {
   public:
    device::Slice slice(const device::Slice& slice, std::size_t, device::Access) override {
      return slice;
    }
    const device::Weight* weight(const device::Weight* weight) override { return weight; }
  };

  std::unique_ptr<device::OpLists> lists_ =
      std::make_unique<device::OpLists>(device::OpLists::Keep::kCopies);
  device::Op op_;
};

}  // namespace tandem::test
