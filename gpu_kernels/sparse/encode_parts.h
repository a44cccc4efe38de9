// SPDX-License-Identifier: Apache-2.0
//
// Encoding: the parts of a partition into message bodies, all parts in one launch.
//
// coo32   [num_entries] u32 indices, then the packed values
// bitmap  a bit per position in little-endian words of 64 (the rest of the last word is zero), then
//         the packed values
// A part without entries has an empty body. The bytes are those of the collectives library's codecs
// of these names behind their header (tests compare them).
// A bitmap block owns 65,536 positions: it finds its entries by two searches of 32 ways, sets bits
// in shared memory and writes each word once, so nothing is zeroed before and no global atomics
// run. Graph-safe: no allocation, no synchronisation, no workspace; sizes are known on the host.
// Bytes per entry of f32: 8 read; written 8 (coo32), or 4 and num_positions / 8 in all (bitmap).
// Errors: cudaErrorInvalidValue for shapes outside the stated ones.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sparse/hashed_owners.h"
#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

struct EncodeParts {
  const std::uint32_t* locals = nullptr;  // [begins[num_parts]] ascending inside each part
  const void* values = nullptr;           // the same, f32 for wires f16 and bf16, else of the wire
  ValueType wire = ValueType::kF32;
  int num_parts = 1;                            // 1..kMaxOwners
  std::uint32_t begins[kMaxOwners + 1] = {};    // first entry of each part, then their number
  std::uint64_t num_positions = 0;              // of every part, at most 2^32; indices lie below
  void* bodies = nullptr;                       // aligned to 8
  std::uint64_t body_offsets[kMaxOwners] = {};  // bytes from `bodies`, multiples of 8
};

std::size_t coo_body_bytes(std::uint64_t num_entries, ValueType wire);
std::size_t bitmap_body_bytes(std::uint64_t num_entries, std::uint64_t num_positions,
                              ValueType wire);

cudaError_t encode_coo(const EncodeParts& job, cudaStream_t stream);
cudaError_t encode_bitmap(const EncodeParts& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
