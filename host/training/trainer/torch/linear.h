// SPDX-License-Identifier: Apache-2.0
//
// linear(): x w^T, with its gradients.
//
// x: [..., in]; w: [out, in], f32; result [..., out]. bf16: both factors are rounded to bf16, and
// libtorch sums them as for bf16; the result and the gradients are f32. Threads: libtorch's.
#pragma once

#include <torch/torch.h>

namespace tandem::training::torch_passes {

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& w, bool bf16);

}  // namespace tandem::training::torch_passes
