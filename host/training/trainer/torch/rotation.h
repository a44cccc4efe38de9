// SPDX-License-Identifier: Apache-2.0
//
// Rotary embedding of neighbouring dimensions (2i, 2i + 1), in the row order of GGUF's llama
// architecture.
//
// x: [rows, tokens, heads, head_dim], f32; dimensions after the rotated ones do not change. The
// gradient is rotated back. Threads: libtorch's.
#pragma once

#include <torch/torch.h>

namespace tandem::training::torch_passes {

struct Angles {
  torch::Tensor cosines, sines;  // [tokens, rotated dimensions / 2]
};

torch::Tensor rotate(const torch::Tensor& x, const Angles& angles);

}  // namespace tandem::training::torch_passes
