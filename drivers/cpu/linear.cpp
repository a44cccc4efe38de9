// SPDX-License-Identifier: Apache-2.0
//
// Linear: the checks of a LinearOp.
#include "cpu/linear.h"

#include "common/error.h"
#include "cpu/slices.h"

namespace tandem::device::cpu {

std::uint64_t Linear::run(const LinearOp& op) {
  if (op.rows < 0) throw Error("cpu", "linear: rows is negative");
  if (op.norm != nullptr && op.up) throw Error("cpu", "linear: both a norm and a gate");
  targets_.clear();
  for (const LinearTarget& t : op.targets) {
    Product target;
    const std::int64_t in =
        targets_.empty() ? 0 : targets_.front().weight->in_features();  // all share x
    target.weight = &cpu_weight(t.weight, 0, in, "linear: weight");
    if (!target.weight->multiplies()) {
      throw Error("cpu", "linear: the weight was loaded as a table or a vector");
    }
    if (t.bias != nullptr) {
      target.bias =
          cpu_weight(t.bias, 1, target.weight->out_features(), "linear: bias").vector().data();
    }
    target.out = floats(t.out, op.rows * target.weight->out_features(), "linear: out");
    target.accumulate = t.accumulate;
    targets_.push_back(target);
  }
  if (op.rows == 0 || targets_.empty()) return 0;
  RowSource input;
  input.rows = op.rows;
  input.width = targets_.front().weight->in_features();
  input.x = floats(op.x, input.rows * input.width, "linear: x");
  if (op.norm != nullptr) {
    input.norm = cpu_weight(op.norm, 1, targets_.front().weight->in_features(), "linear: norm")
                     .vector()
                     .data();
    input.norm_epsilon = op.norm_epsilon;
  }
  if (op.up) input.up = floats(op.up, input.rows * input.width, "linear: up");
  input.activation = op.activation;
  return products_.run({&input, 1}, targets_);
}

}  // namespace tandem::device::cpu
