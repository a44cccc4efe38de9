// SPDX-License-Identifier: Apache-2.0
//
// The tile of rows and the panel of each block of a grouped product: the counterpart of
// few_rows.cuh for weights chosen on the device.
//
// grid: [maximum of tiles, panels of all targets]. Neighbouring blocks read the same panel of a
// weight for its tiles, or panels of other weights. Blocks after the last tile have no work. Inputs
// are not cut into parts: tiles and panels give enough blocks, or the weights are small. Threads:
// all threads of a block call finish_panel().
#pragma once

#include <type_traits>

#include "gemm/few_rows.cuh"
#include "gemm/grouped_product.h"

namespace tandem::gpu_kernels {

struct GroupedRows {
  static constexpr unsigned parts = 1;
  unsigned most_tiles = 0, warps = 1, panels = 0;
  unsigned panel_begins[kMaxGroupedTargets] = {};
  GroupedTarget targets[kMaxGroupedTargets];
  const RowTile* tiles = nullptr;
  const std::int32_t* num_tiles = nullptr;
  const std::int32_t* picks = nullptr;
};

// True if a launch writes these places on the device (GroupedRows).
template <typename Outputs>
inline constexpr bool kIsGrouped = std::is_same_v<Outputs, GroupedRows>;

// False if no kernel can compute the job.
inline bool plan_grouped_rows(const GroupedProduct& job, std::int64_t tiles_of_inputs,
                              GroupedRows& plan) {
  if (job.num_targets < 1 || job.num_targets > kMaxGroupedTargets || tiles_of_inputs < 1 ||
      job.most_tiles < 1 || job.tiles == nullptr || job.num_tiles == nullptr) {
    return false;
  }
  std::int64_t panels = 0;
  for (int t = 0; t < kMaxGroupedTargets; ++t) {
    plan.panel_begins[t] = static_cast<unsigned>(panels);
    if (t >= job.num_targets) continue;
    plan.targets[t] = job.targets[t];
    if (job.targets[t].out_features < 1) return false;
    panels += (job.targets[t].out_features + kPanelOutputs - 1) / kPanelOutputs;
  }
  if (panels > 65535) return false;
  plan.panels = static_cast<unsigned>(panels);
  plan.warps = kMaxFewRowsWarps;
  while (plan.warps > 1 && plan.warps > tiles_of_inputs) plan.warps /= 2;
  plan.most_tiles = static_cast<unsigned>(job.most_tiles);
  plan.tiles = job.tiles;
  plan.num_tiles = job.num_tiles;
  plan.picks = job.picks;
  return true;
}

inline dim3 grid_of(const GroupedRows& plan) { return dim3(plan.most_tiles, plan.panels); }

struct TilePlace {
  unsigned target;
  unsigned panel;  // index of the panel in its target
  RowTile tile;    // a tile of 0 rows has no work
};

__device__ inline TilePlace panel_place(const GroupedRows& job) {
  unsigned target = 0;
#pragma unroll
  for (unsigned t = 1; t < kMaxGroupedTargets; ++t) {
    if (blockIdx.y >= job.panel_begins[t] && job.panel_begins[t] < job.panels) target = t;
  }
  RowTile tile{0, 0, 0};
  if (static_cast<std::int32_t>(blockIdx.x) < *job.num_tiles) tile = job.tiles[blockIdx.x];
  return {target, blockIdx.y - job.panel_begins[target], tile};
}

__device__ inline bool has_work(const TilePlace& at) { return at.tile.rows > 0; }
__device__ inline ProductTarget target_at(const GroupedRows& job, const TilePlace& at) {
  const GroupedTarget& grouped = job.targets[at.target];
  ProductTarget target;
  target.weight = grouped.weights[at.tile.weight];
  if (grouped.scales != nullptr) target.scales = grouped.scales[at.tile.weight];
  target.out_features = grouped.out_features;
  target.out = grouped.out + at.tile.first * grouped.out_features;
  target.scale_outputs = grouped.scale_outputs;
  target.scale_inputs = grouped.scale_inputs;
  return target;
}
__device__ inline unsigned rows_at(const GroupedRows&, const TilePlace& at) {
  return static_cast<unsigned>(at.tile.rows);
}
// Rows after the tile's last one repeat its first row.
__device__ inline unsigned x_row(const GroupedRows& job, const TilePlace& at, unsigned row) {
  const std::int32_t slot =
      at.tile.first +
      (row < static_cast<unsigned>(at.tile.rows) ? static_cast<std::int32_t>(row) : 0);
  return static_cast<unsigned>(job.picks != nullptr ? job.picks[slot] : slot);
}
__device__ inline unsigned part_at(const GroupedRows&) { return 0; }

__device__ inline void finish_panel(const GroupedRows&, const TilePlace& at,
                                    const ProductTarget& target, const float* sums,
                                    unsigned slices) {
  const unsigned count = static_cast<unsigned>(at.tile.rows) * kPanelOutputs;
  __syncthreads();
  for (unsigned place = threadIdx.x; place < count; place += blockDim.x) {
    float sum = sums[place];
    for (unsigned slice = 1; slice < slices; ++slice) sum += sums[slice * count + place];
    store_output(target, at.panel, place, sum);
  }
}

}  // namespace tandem::gpu_kernels
