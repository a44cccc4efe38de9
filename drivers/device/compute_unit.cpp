// SPDX-License-Identifier: Apache-2.0
//
// What a compute unit answers to operations that it does not say it does.
#include "device/compute_unit.h"

#include "common/error.h"

namespace tandem::device {

void ComputeUnit::enqueue(const SampleOp&) {
  throw Error("device", "this compute unit does not sample; ask samples() first");
}

void ComputeUnit::enqueue(const PostOp&) {
  throw Error("device", "this compute unit has no rings; ask signals() first");
}

void ComputeUnit::enqueue(const AwaitOp&) {
  throw Error("device", "this compute unit has no rings; ask signals() first");
}

}  // namespace tandem::device
