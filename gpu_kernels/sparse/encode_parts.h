// SPDX-License-Identifier: Apache-2.0
//
// Encodes the parts of a partition into message bodies, all parts in one launch.
//
// The bytes are those of the codecs of the same names in host/collectives, after their header;
// tests compare them. A part without entries has an empty body. Graph-safe: no allocation, no
// synchronisation, no workspace; the host knows the sizes. Errors: cudaErrorInvalidValue for other
// shapes than the stated ones.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sparse/hashed_owners.h"
#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

struct EncodeParts {
  const std::uint32_t* locals = nullptr;  // [begins[num_parts]] ascending inside each part
  const void* values = nullptr;           // likewise; f32 for wires f16, bf16; else of the wire
  ValueType wire = ValueType::kF32;
  int num_parts = 1;                            // 1..kMaxOwners
  std::uint32_t begins[kMaxOwners + 1] = {};    // first entry of each part; last: the total
  std::uint64_t num_positions = 0;              // of each part, at most 2^32; above all locals
  void* bodies = nullptr;                       // aligned to 8
  std::uint64_t body_offsets[kMaxOwners] = {};  // bytes from `bodies`, multiples of 8
};

std::size_t coo_body_bytes(std::uint64_t num_entries, ValueType wire);
std::size_t bitmap_body_bytes(std::uint64_t num_entries, std::uint64_t num_positions,
                              ValueType wire);

// Body: [num_entries] u32 indices, then the packed values. Bytes per f32 entry: 8 read, 8 written.
cudaError_t encode_coo(const EncodeParts& job, cudaStream_t stream);
// Body: a bit per position in little-endian words of 64 (the rest of the last word is zero), then
// the packed values. A block owns 65,536 positions. It finds its entries by two searches of 32
// ways, sets bits in shared memory and writes each word once. So no memory is zeroed before, and
// there are no global atomics. Bytes per f32 entry: 8 read, 4 written; num_positions / 8 written in
// all.
cudaError_t encode_bitmap(const EncodeParts& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
