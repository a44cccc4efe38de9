// SPDX-License-Identifier: Apache-2.0
//
// Hash partition: sorts the entries of a sparse vector by owner and makes their indices local.
//
// The entries of one owner keep their order: sorted input gives sorted parts, and every run gives
// the same result. Graph-safe: no allocation, no synchronisation; the caller owns `workspace`.
// Errors: cudaErrorInvalidValue for other shapes than the stated ones, else the launch's error.
// Source: Wang et al., ZEN, OSDI 2025, section 3; the stable counting sort is the textbook's. The
// hash memory of the paper's section 3.2 is not used: there a race decides the order within a part,
// and a sort or a merge in rank order must follow.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sparse/hashed_owners.h"

namespace tandem::gpu_kernels {

struct HashPartition {
  const std::uint32_t* indices = nullptr;  // [num_entries]
  const void* values = nullptr;            // [num_entries] of value_bytes, aligned to them
  std::uint32_t num_entries = 0;           // below 2^32 - 4,096
  int value_bytes = 4;                     // 2, 4 or 8
  HashedOwners owners;
  std::uint32_t* locals = nullptr;  // [num_entries], grouped by owner
  void* values_out = nullptr;       // [num_entries]
  std::uint32_t* begins = nullptr;  // [num_owners + 1] first entry of each part, then num_entries
  void* workspace = nullptr;        // partition_workspace_bytes(), aligned to 4
};

std::size_t partition_workspace_bytes(std::uint32_t num_entries, int num_owners);

// Three launches: count owners per tile of 4,096 entries, sum the counts over the tiles, rank
// entries within their tile and write them in runs of one owner. Bytes per f32 entry: 4 read to
// count, 8 read and 8 written to move (20; a copy moves 16), plus 12 bytes per owner and tile.
// Shared memory: 13 KiB + 4,096 * max(4, value_bytes).
cudaError_t hash_partition(const HashPartition& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
