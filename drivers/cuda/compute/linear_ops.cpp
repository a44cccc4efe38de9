// SPDX-License-Identifier: Apache-2.0
//
// CudaComputeUnit: matrix products, alone and by experts.
#include "common/error.h"
#include "cuda/compute/compute_unit.h"

namespace tandem::cuda {

using device::ExpertsOp;
using device::LinearOp;
using device::LinearTarget;

void CudaComputeUnit::handle(const LinearOp& op) {
  const std::size_t rows = count_of(op.rows, "linear: rows");
  if (op.norm != nullptr && op.up) throw Error("cuda", "linear: both a norm and a gate");
  outputs_.clear();
  for (const LinearTarget& target : op.targets) {
    const std::int64_t in = outputs_.empty() ? 0 : outputs_.front().weight->in_features();
    LinearOutput& to = outputs_.emplace_back();
    to.weight = &cuda_weight(gpu_, target.weight, 0, in, "linear: weight");
    if (to.weight->matrix() == nullptr) {
      throw Error("cuda", "linear: the weight was loaded as a table or a vector");
    }
    const std::int64_t out = to.weight->out_features();
    if (target.bias != nullptr) {
      to.bias = cuda_weight(gpu_, target.bias, 1, out, "linear: bias").vector();
    }
    to.out = floats(target.out, rows * static_cast<std::size_t>(out), "linear: out");
    to.accumulate = target.accumulate;
  }
  if (rows == 0 || outputs_.empty()) return;
  LinearInput input;
  input.rows = op.rows;
  input.width = outputs_.front().weight->in_features();
  const std::size_t values = rows * static_cast<std::size_t>(input.width);
  input.x = floats(op.x, values, "linear: x");
  if (op.norm != nullptr) {
    input.function = gpu_kernels::RowFunction::kRmsNorm;
    input.norm = cuda_weight(gpu_, op.norm, 1, input.width, "linear: norm").vector();
    input.norm_epsilon = op.norm_epsilon;
  }
  if (op.up) {
    input.function = op.activation == device::Activation::kSilu
                         ? gpu_kernels::RowFunction::kSiluUp
                         : gpu_kernels::RowFunction::kGeluTanhUp;
    input.up = floats(op.up, values, "linear: up");
  }
  weight_bytes_ += linear_.run(input, outputs_);
  ops_ += 1;
}

void CudaComputeUnit::handle(const ExpertsOp& op) {
  weight_bytes_ += experts_.run(op);
  ops_ += 1;
}

}  // namespace tandem::cuda
