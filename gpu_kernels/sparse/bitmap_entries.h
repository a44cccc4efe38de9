// SPDX-License-Identifier: Apache-2.0
//
// Compaction: from dense values to a presence bitmap, and from a bitmap to indices and values.
//
// Dense to COO is mark_present(), then take_entries(). The dense values are read once, and again
// only where present. A bitmap has u32 words, little-endian; bits from num_positions on are
// ignored. The output order is fixed; no floats are added. Graph-safe: no allocation, no
// synchronisation; the caller owns `workspace`. Errors: cudaErrorInvalidValue for more than 2^32
// positions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

// Bit i = (values[i] differs from `absent`). A NaN differs; -0 equals 0. Bytes, f32: 4 + 1/8 per
// position.
struct MarkPresent {
  const void* values = nullptr;  // [num_positions] of `type`
  ValueType type = ValueType::kF32;
  std::uint64_t num_positions = 0;
  bool absent_is_least = false;     // `absent` is the identity of max (-infinity; 0 for u64), not 0
  std::uint32_t* bitmap = nullptr;  // [ceil(num_positions / 32)]; every word is written
};

cudaError_t mark_present(const MarkPresent& job, cudaStream_t stream);

// Writes the ascending positions of the set bits, each with its value. Packed values are in the
// order of the bits (decoding a bitmap); dense values are read at the same positions (compaction).
// Three launches: count bits per tile of 8,192 positions, sum the tiles, write entries through
// shared memory in coalesced runs. Bytes, f32: 1/4 per position and 12 per entry.
struct TakeEntries {
  const std::uint32_t* bitmap = nullptr;  // [ceil(num_positions / 32)]
  std::uint64_t num_positions = 0;        // at most 2^32
  // of `type`: [number of bits] packed, aligned to 4 (f16, bf16: 2); or [num_positions] dense
  const void* values = nullptr;
  ValueType type = ValueType::kF32;
  bool packed = false;
  std::uint32_t max_entries = 0;
  std::uint32_t* indices = nullptr;  // [max_entries]
  void* values_out = nullptr;        // [max_entries], f32 for f16 and bf16, else of `type`
  // [1] device memory: the number of set bits, which can exceed max_entries; the caller compares
  std::uint32_t* num_entries = nullptr;
  void* workspace = nullptr;      // take_entries_workspace_bytes(), aligned to 4
  std::uint32_t first_index = 0;  // added to every position that is written
  // The workspace begins with the number of set bits of every tile of kBitmapTilePositions: they
  // are not counted again.
  bool counted = false;
};

inline constexpr std::uint32_t kBitmapTilePositions = 8192;

std::size_t take_entries_workspace_bytes(std::uint64_t num_positions);

cudaError_t take_entries(const TakeEntries& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
