// SPDX-License-Identifier: Apache-2.0
//
// Shared by the kernels for few rows: products of one input with up to four weights of one type in
// one launch, and the memory in which blocks with common outputs add their sums.
//
// out[row] = (accumulate ? out[row] : 0) + x[row] W^T + bias. Outputs of all targets are cut into
// panels, the inputs into enough parts to occupy the GPU. The block of a panel that finishes last
// adds the parts, in order: the sum does not depend on which block that is. The number of parts
// depends on the shapes only, never on the rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::gpu_kernels {

inline constexpr int kMaxTargets = 4;
inline constexpr int kPanelOutputs = 16;

struct ProductTarget {
  const void* weight = nullptr;   // [out_features, in_features]
  const float* scales = nullptr;  // e4m3 only; null: all scales are 1
  std::int64_t out_features = 0;
  const float* bias = nullptr;  // [out_features] or none
  float* out = nullptr;         // [rows, out_features]
  bool accumulate = false;
  // scales: [out_features], or one for each block of scale_outputs x scale_inputs (0: all inputs),
  // [ceil(out_features / scale_outputs), ceil(in_features / scale_inputs)].
  int scale_outputs = 1, scale_inputs = 0;
};

// if there are fewer panels, the inputs are cut into parts
inline constexpr int kSplitPanels = 128;
inline constexpr int kSplitBlocks = 256;  // upper bound of the blocks of such a launch
inline constexpr int kMaxFewRows = 16;    // upper bound of the rows of all kernels for few rows

// Bytes of workspace that suffice for any call of the kernels for few rows, aligned to 16. The
// caller zeroes them before the first call; each call leaves them ready for the next. Calls that
// may run at the same time need separate workspaces.
inline constexpr std::size_t kFewRowsWorkspaceBytes =
    kSplitPanels * sizeof(std::uint32_t) +
    std::size_t{kSplitBlocks} * kPanelOutputs * kMaxFewRows * sizeof(float);

}  // namespace tandem::gpu_kernels
