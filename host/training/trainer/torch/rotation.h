// SPDX-License-Identifier: Apache-2.0
//
// Rotary embedding of neighbours (2i, 2i + 1), as GGUF's llama architecture orders rows.
//
// x: [rows, tokens, heads, head_dim], f32; dimensions beyond the rotated ones stay. The gradient is
// rotated back. Threads: libtorch's.
#pragma once

#include <torch/torch.h>

namespace tandem::training::torch_passes {

struct Angles {
  torch::Tensor cosines, sines;  // [tokens, rotated dimensions / 2]
};

torch::Tensor rotate(const torch::Tensor& x, const Angles& angles);

}  // namespace tandem::training::torch_passes
