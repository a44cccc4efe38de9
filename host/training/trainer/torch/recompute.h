// SPDX-License-Identifier: Apache-2.0
//
// recomputed(): runs a part of a model without keeping its activations; the backward pass runs the
// part again.
//
// `part` maps a tensor to a tensor of the same kind and must give the same bits each time. Its
// parameters get their gradients from the second run. Cost: one more forward pass of the part.
// Threads: as autograd. Source: Chen et al. 2016.
#pragma once

#include <torch/torch.h>

#include <functional>

namespace tandem::training::torch_passes {

using Part = std::function<torch::Tensor(const torch::Tensor&)>;

// part: must outlive the backward pass.
torch::Tensor recomputed(const Part& part, const torch::Tensor& x);

}  // namespace tandem::training::torch_passes
