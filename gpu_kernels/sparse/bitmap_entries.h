// SPDX-License-Identifier: Apache-2.0
//
// Compaction: from dense values to a presence bitmap, and from a bitmap to indices and values.
//
// mark_present   bit i = values[i] differs from `absent` (a NaN differs; -0 equals 0)
// take_entries   the ascending positions of the set bits, each with its value: packed ones in order
//                (decoding a bitmap), or those at the same positions of a dense array (compaction)
// Dense -> COO is mark_present, then take_entries: the dense values are read once, and again only
// where present. A bitmap has u32 words, little-endian; bits at or behind num_positions are
// ignored. take_entries: three launches (bits counted per tile of 8,192 positions, tiles summed,
// entries written through shared memory in coalesced runs). It writes at most max_entries entries,
// but *num_entries is the bits' true number: the caller compares. Output order is fixed; no float
// is added. Graph-safe: no allocation, no synchronisation; `workspace` is the caller's. Bytes, f32:
// mark_present 4 + 1/8 per position; take_entries 1/4 per position and 12 per entry. Errors:
// cudaErrorInvalidValue for more than 2^32 positions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

struct MarkPresent {
  const void* values = nullptr;  // [num_positions] of `type`
  ValueType type = ValueType::kF32;
  std::uint64_t num_positions = 0;
  bool absent_is_least = false;     // the identity of max (-infinity; 0 for u64) in place of 0
  std::uint32_t* bitmap = nullptr;  // [ceil(num_positions / 32)]; every word is written
};

cudaError_t mark_present(const MarkPresent& job, cudaStream_t stream);

struct TakeEntries {
  const std::uint32_t* bitmap = nullptr;  // [ceil(num_positions / 32)]
  std::uint64_t num_positions = 0;        // at most 2^32
  const void* values = nullptr;           // of `type`: [number of bits] packed, aligned to 4
                                          // (f16, bf16: 2); or [num_positions] dense
  ValueType type = ValueType::kF32;
  bool packed = false;
  std::uint32_t max_entries = 0;
  std::uint32_t* indices = nullptr;      // [max_entries]
  void* values_out = nullptr;            // [max_entries], f32 for f16 and bf16, else of `type`
  std::uint32_t* num_entries = nullptr;  // [1] device memory
  void* workspace = nullptr;             // take_entries_workspace_bytes(), aligned to 4
};

std::size_t take_entries_workspace_bytes(std::uint64_t num_positions);

cudaError_t take_entries(const TakeEntries& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
