// SPDX-License-Identifier: Apache-2.0
//
// Small random models of the Llama family with FP8 matrices, in the layouts in which such models
// are published, and the same weights dequantised to F32.
//
// Threads: any; pure functions. Cost: some milliseconds per million weights.
#pragma once

#include "support/safetensors_writer.h"

namespace tandem::test {

enum class F8Layout {
  kMatrix,  // "fp8": a weight_scale and an input_scale per matrix
  kRow,     // "compressed-tensors": a weight_scale per row, in BF16
  kFbgemm,  // "fbgemm_fp8": a weight_scale per row
  kBlock    // "fp8" with weight_block_size: a weight_scale_inv per block
};

struct F8HubModel {
  nlohmann::json config;      // with quantization_config
  SafetensorsWriter f8, f32;  // embedding, output matrix and norms are F32 in both
  nlohmann::json f32_config;  // without
  std::size_t num_f8_matrices = 0;
};

// `block`: rows and columns of kBlock.
F8HubModel f8_hub_model(const HubModel& shape, F8Layout layout, std::uint64_t seed,
                        int block = 128);

}  // namespace tandem::test
