// SPDX-License-Identifier: Apache-2.0
//
// The steps of an expert feed-forward around its products: choose experts, group rows, add results.
//
// Every row has exactly `used` slots. So the buffers of the products have rows * used rows for
// every choice. Slot begins stay on the device: grouped products read them there, or the caller
// copies them to the host to size launches (which ends a graph). Graph-safe: one launch each, no
// workspace. Numerics: f32, no atomics; the result of a row does not depend on the others. Cost:
// router logits and results are read once; group_experts reads the choices once per expert, from
// the cache. Errors: cudaErrorInvalidValue for other shapes than the stated ones.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gemm/grouped_product.h"

namespace tandem::gpu_kernels {

inline constexpr int kMaxExperts = 1024;

// Chooses per row the `used` largest router logits; of equal ones the first. The share of an expert
// is its softmax over all experts, scaled to a sum of 1 if `normalise`. NaN is never the largest. A
// row with a NaN among its logits has shares of NaN.
struct ExpertChoice {
  std::int64_t rows = 0;
  int experts = 0;  // at most kMaxExperts
  int used = 0;     // 1..experts
  bool normalise = false;
  const float* router = nullptr;   // [rows, experts]
  std::int32_t* chosen = nullptr;  // [rows, used]
  float* shares = nullptr;         // [rows, used]
};
cudaError_t choose_experts(const ExpertChoice& job, cudaStream_t stream);

// Puts the rows of every expert together ("slots"), in the order of rows.
struct ExpertGroups {
  std::int64_t rows = 0;  // rows * used below 2^31
  int experts = 0;
  int used = 0;
  const std::int32_t* chosen = nullptr;  // [rows, used]
  // [experts + 1] first slot of every expert, then the number of slots
  std::int32_t* begins = nullptr;
  std::int32_t* slot_rows = nullptr;  // [rows * used] the row in each slot
  std::int32_t* slots = nullptr;      // [rows, used] the slot of each choice
};
cudaError_t group_experts(const ExpertGroups& job, cudaStream_t stream);

// Cuts the slots of an expert into tiles of a few rows for grouped products
// (gemm/grouped_product.h).
struct ExpertTiles {
  int experts = 0;
  int tile_rows = 0;
  const std::int32_t* begins = nullptr;  // [experts + 1]
  RowTile* tiles = nullptr;              // [most_expert_tiles()], in the order of experts
  std::int32_t* num_tiles = nullptr;
};
cudaError_t cut_expert_tiles(const ExpertTiles& job, cudaStream_t stream);

// An upper bound for every distribution: each chosen expert can have one tile that is not full.
inline std::int64_t most_expert_tiles(std::int64_t slots, int experts, int tile_rows) {
  const std::int64_t chosen = slots < experts ? slots : experts;
  return chosen + (slots - chosen) / tile_rows;
}

// out[row] += sum over the chosen experts of share * result[slot], the most probable first.
struct ExpertSum {
  std::int64_t rows = 0;
  int width = 0;
  int used = 0;
  const float* results = nullptr;       // [rows * used, width], by slot
  const std::int32_t* slots = nullptr;  // [rows, used]
  const float* shares = nullptr;        // [rows, used]
  float* out = nullptr;                 // [rows, width]
};
cudaError_t sum_experts(const ExpertSum& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
