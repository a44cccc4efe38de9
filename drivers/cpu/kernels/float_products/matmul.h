// SPDX-License-Identifier: Apache-2.0
//
// Products of f32 and f16 weights, as the model file stores them, with many rows of activations:
// prefill.
//
// y = x W^T in f32. The activations are packed once per call, [panel of 32 rows][in_features][32].
// A task takes kTaskOutputs weight rows, converts them to f32, 256 inputs at a time, and multiplies
// them with every panel, 12 outputs x 32 rows at a time in registers (AVX-512; 6 x 16 with AVX2).
// Cost: 2 FLOPs per weight and row; each weight is read and converted once per 512 rows; the packed
// activations are read once per task. Threads: any; pure functions; callers pack panels and run
// tasks in parallel, with one workspace per running task. Numerics: f32 sums in chunks of 256
// inputs.
#pragma once

#include <cstddef>
#include <vector>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

inline constexpr std::size_t kPanelRows = 32;
inline constexpr std::size_t kTaskOutputs = 48;
inline constexpr std::size_t kMaxPackedRows = 512;

// Packs rows [panel * 32, ...) of x to [in_features, 32]; rows after the last one become 0.
void pack_panel(const float* x, std::size_t rows, std::size_t in_features, std::size_t panel,
                float* packed);

struct ManyRows {
  DType dtype = DType::kF32;
  const std::byte* weights = nullptr;  // [outputs, in_features] of dtype
  std::size_t row_bytes = 0;
  std::size_t in_features = 0;
  const float* packed = nullptr;  // [panels, in_features, 32]
  std::size_t rows = 0;           // 1..kMaxPackedRows
  float* y = nullptr;             // [rows, y_stride]; the first output of this call
  std::size_t y_stride = 0;
  const float* bias = nullptr;  // [outputs] or null
  bool accumulate = false;
};

// outputs <= kTaskOutputs. The workspace grows to the size that a task needs, and may be used
// again.
void multiply_many_rows(const ManyRows& task, std::size_t outputs, std::vector<float>& workspace);

}  // namespace tandem::device::cpu
