// SPDX-License-Identifier: Apache-2.0
//
// Shared by the kernels for few rows: the panel of outputs and the part of the inputs of each
// block, and the sum over warps and blocks.
//
// grid: [panels of all targets, parts]. Inputs are cut into tiles of the kernel's size; warp w of
// part p takes tiles (i * parts + p) * warps + w, so that a block reads neighbours. The slices of a
// panel (warps, or parts of them) are added in order, then the parts, by the block that finishes
// last. Threads: all of a block call finish_panel().
#pragma once

#include <cuda_runtime_api.h>

#include "gemm/product_targets.h"

namespace tandem::gpu_kernels {

inline constexpr unsigned kMaxFewRowsWarps = 8;

struct FewRows {
  unsigned rows = 0;
  unsigned parts = 1;
  unsigned warps = 1;   // per block
  unsigned panels = 0;  // panels of all targets
  unsigned panel_begins[kMaxTargets] = {};
  ProductTarget targets[kMaxTargets];  // unused ones, after the last, begin at `panels`
  float* partials = nullptr;           // [panels, parts, rows, 16]
  std::uint32_t* counters = nullptr;   // [kSplitPanels], zeros between calls
};

struct FewRowsCall {
  int rows = 0;
  std::int64_t tiles = 0;  // number of tiles of the inputs
  int num_targets = 0;
  const ProductTarget* targets = nullptr;
  void* workspace = nullptr;
};

// False if no kernel can compute the call. The plan depends on shapes only, except for its member
// `rows`.
inline bool plan_few_rows(const FewRowsCall& call, int max_rows, FewRows& plan) {
  if (call.rows < 1 || call.rows > max_rows || call.tiles < 1 || call.num_targets < 1 ||
      call.num_targets > kMaxTargets || call.workspace == nullptr) {
    return false;
  }
  plan.rows = static_cast<unsigned>(call.rows);
  std::int64_t panels = 0;
  for (int t = 0; t < kMaxTargets; ++t) {
    plan.panel_begins[t] = static_cast<unsigned>(panels);
    if (t >= call.num_targets) continue;
    plan.targets[t] = call.targets[t];
    if (call.targets[t].out_features < 1) return false;
    panels += (call.targets[t].out_features + kPanelOutputs - 1) / kPanelOutputs;
  }
  if (panels > 0x7fffffff) return false;
  plan.panels = static_cast<unsigned>(panels);
  const auto tiles = static_cast<unsigned>(call.tiles);
  // four warps if there are many blocks, so that each warp reads more of a panel
  plan.warps = panels >= 1024 ? kMaxFewRowsWarps / 2 : kMaxFewRowsWarps;
  while (plan.warps > 1 && plan.warps > tiles) plan.warps /= 2;
  plan.parts = 1;
  if (plan.panels < kSplitPanels) {
    while (plan.parts < 8 && plan.panels * plan.parts * 2 <= kSplitBlocks &&
           plan.parts * 2 * plan.warps <= tiles) {
      plan.parts *= 2;
    }
  }
  plan.counters = static_cast<std::uint32_t*>(call.workspace);
  plan.partials = reinterpret_cast<float*>(plan.counters + kSplitPanels);
  return true;
}

inline dim3 grid_of(const FewRows& plan) { return dim3(plan.panels, plan.parts); }

// One of the four words, by a constant index.
__device__ inline std::uint32_t word_of(const uint4& words, int index) {
  return index == 0 ? words.x : index == 1 ? words.y : index == 2 ? words.z : words.w;
}

struct PanelPlace {
  unsigned target;
  unsigned panel;  // index of the panel in its target
};

__device__ inline PanelPlace panel_place(const FewRows& job) {
  unsigned target = 0;
#pragma unroll
  for (unsigned t = 1; t < kMaxTargets; ++t) {
    if (blockIdx.x >= job.panel_begins[t] && job.panel_begins[t] < job.panels) target = t;
  }
  return {target, blockIdx.x - job.panel_begins[target]};
}

// The interface of a block's work for kernels; grouped_rows.cuh has the same for grouped rows.
__device__ inline bool has_work(const PanelPlace&) { return true; }
__device__ inline const ProductTarget& target_at(const FewRows& job, const PanelPlace& at) {
  return job.targets[at.target];
}
__device__ inline unsigned rows_at(const FewRows& job, const PanelPlace&) { return job.rows; }
__device__ inline unsigned x_row(const FewRows&, const PanelPlace&, unsigned row) { return row; }
__device__ inline unsigned part_at(const FewRows&) { return blockIdx.y; }

// place: row * 16 + output of the panel.
__device__ inline void store_output(const ProductTarget& target, unsigned panel, unsigned place,
                                    float sum) {
  const std::int64_t output =
      static_cast<std::int64_t>(panel) * kPanelOutputs + place % kPanelOutputs;
  if (output >= target.out_features) return;
  float* out = target.out + place / kPanelOutputs * target.out_features + output;
  if (target.scales != nullptr && target.scale_inputs == 0) sum *= target.scales[output];
  if (target.bias != nullptr) sum += target.bias[output];
  *out = target.accumulate ? *out + sum : sum;
}

// sums: shared, [slices, rows, 16], before a barrier; target: target_at().
__device__ inline void finish_panel(const FewRows& job, const PanelPlace& at,
                                    const ProductTarget& target, const float* sums,
                                    unsigned slices) {
  const unsigned count = job.rows * kPanelOutputs;
  float* partials = job.partials + static_cast<std::size_t>(blockIdx.x) * job.parts * count;
  __syncthreads();
  for (unsigned place = threadIdx.x; place < count; place += blockDim.x) {
    float sum = sums[place];
    for (unsigned slice = 1; slice < slices; ++slice) sum += sums[slice * count + place];
    if (job.parts == 1) {
      store_output(target, at.panel, place, sum);
    } else {
      partials[blockIdx.y * count + place] = sum;
    }
  }
  if (job.parts == 1) return;
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(&job.counters[blockIdx.x], 1u) + 1 == job.parts;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  // past the first-level cache, which may hold old contents of these lines
  for (unsigned place = threadIdx.x; place < count; place += blockDim.x) {
    float sum = __ldcg(partials + place);
    for (unsigned part = 1; part < job.parts; ++part) {
      sum += __ldcg(partials + part * count + place);
    }
    store_output(target, at.panel, place, sum);
  }
  if (threadIdx.x == 0) job.counters[blockIdx.x] = 0;
}

}  // namespace tandem::gpu_kernels
