// SPDX-License-Identifier: Apache-2.0
//
// sparse_linear(): x w^T for a pruned w, with its gradients.
//
// x: [..., in]; w: [out, in], f32, mostly zeros. Only weights that are not zero take part; the
// gradients of the others are 0. Every value is summed in the order of the columns, so the bits do
// not depend on threads. Cost: about the share of non-zeros of a dense product, at a fifth to a
// half of its rate. Threads: libtorch's.
#pragma once

#include <torch/torch.h>

namespace tandem::training::torch_passes {

double share_of_zeros(const torch::Tensor& w);

torch::Tensor sparse_linear(const torch::Tensor& x, const torch::Tensor& w);

}  // namespace tandem::training::torch_passes
