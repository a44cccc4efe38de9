// SPDX-License-Identifier: Apache-2.0
//
// Rows times weights chosen on the device: tiles of a few rows, each with one of many weights of
// one type and shape, in one launch whose size the host knows beforehand.
//
// A tile is up to grouped_tile_rows() neighbouring slots of one weight. out[slot] = x[picks[slot]]
// W^T. The device reads tiles and their number; surplus blocks return at once. So the launch is the
// same for every choice, and only chosen weights are read. Kernels, numerics and forms of x are
// those of quantised_product.h and narrow_product.h; the rows of the whole call select the variant,
// so a row's bits do not depend on the choice. Graph-safe: one launch, no workspace. Bytes: per
// tile W once (from the second-level cache if tiles share it); x from the caches, once per panel.
// Errors: cudaErrorInvalidValue for shapes outside the stated ones.
#pragma once

#include <cuda_runtime_api.h>

#include "common/stored_types.h"
#include "gemm/product_targets.h"
#include "norm/row_preparation.h"

namespace tandem::gpu_kernels {

inline constexpr int kMaxGroupedTargets = 2;

struct RowTile {
  std::int32_t weight, first, rows;  // slots [first, first + rows)
};

struct GroupedTarget {
  // [weights] in device memory: ProductTarget::weight of each
  const void* const* weights = nullptr;
  // e4m3 only: ProductTarget::scales of each; null: all scales are 1
  const float* const* scales = nullptr;
  std::int64_t out_features = 0;
  float* out = nullptr;  // [slots, out_features]
  int scale_outputs = 1, scale_inputs = 0;
};

struct GroupedProduct {
  StoredType type = StoredType::kBF16;  // type of the weights of all targets
  int rows = 0;                         // rows of the call: the upper limit of the rows of a weight
  std::int64_t in_features = 0;         // as for quantised_product, narrow_product
  const void* x = nullptr;              // [rows, in_features], or slots without picks
  const Q8Note* notes = nullptr;        // quantised types only
  // [slots]: the row of x of each slot; null: slot i reads row i
  const std::int32_t* picks = nullptr;
  int most_tiles = 0;
  const RowTile* tiles = nullptr;
  const std::int32_t* num_tiles = nullptr;
  int num_targets = 0;  // 1..kMaxGroupedTargets
  GroupedTarget targets[kMaxGroupedTargets];
};

// The most slots of a tile, for calls of `rows` rows.
int grouped_tile_rows(StoredType type, int rows);

// Whether there is a kernel for rows of `in_features` inputs.
bool takes_grouped(StoredType type, std::int64_t in_features);

cudaError_t grouped_product(const GroupedProduct& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
