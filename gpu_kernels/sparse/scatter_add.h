// SPDX-License-Identifier: Apache-2.0
//
// Scatter-add: one source's entries into dense values, and their bits into a presence bitmap.
//
// Call it once per source (or per piece of one), in rank order, on one stream: positions inside a
// source are unique, so no two threads of a launch meet at a value, and the additions at every
// position happen in rank order, the same on every run. The first entry at a position is stored,
// not added, so dense values need no initialisation (and -0 stays -0); only the bitmap must be zero
// before the first source. Sum, or max over the entries present where NaN wins.
// decode_coo checks a coo32 body that came from elsewhere and widens its values.
// Graph-safe: no allocation, no synchronisation, no workspace.
// Bytes per f32 entry: 8 read, and a read and a write of a 32-byte sector each for value and bit,
// less where neighbours share them.
// Numerics: f16 and bf16 are widened to f32 first; one rounding per addition, subnormals kept; a
// NaN that an addition makes is the canonical one, whatever its operands' payload. Errors: *faults
// becomes non-zero (device memory, the caller zeroes and reads it) when a position is out of range,
// which is then skipped, or, decode_coo, when indices do not ascend.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

struct ScatterAdd {
  const std::uint32_t* positions = nullptr;  // [num_entries] unique
  const void* values = nullptr;              // [num_entries] of `type`, aligned to it
  ValueType type = ValueType::kF32;
  std::uint32_t num_entries = 0;  // below 2^32 - 2,048
  bool maximum = false;
  std::uint64_t num_positions = 0;   // at most 2^32
  void* dense = nullptr;             // [num_positions] f32 for f16 and bf16, else of `type`
  std::uint32_t* present = nullptr;  // [ceil(num_positions / 32)]
  std::uint32_t* faults = nullptr;   // [1]
};

cudaError_t scatter_add(const ScatterAdd& job, cudaStream_t stream);

struct DecodeCoo {
  const void* body =
      nullptr;  // coo32: [num_entries] u32, then [num_entries] of `type`; aligned to 4
  ValueType type = ValueType::kF32;
  std::uint32_t num_entries = 0;
  std::uint64_t num_positions = 0;
  std::uint32_t* indices = nullptr;  // [num_entries]
  void* values_out = nullptr;        // [num_entries] f32 for f16 and bf16, else of `type`
  std::uint32_t* faults = nullptr;   // [1]
};

cudaError_t decode_coo(const DecodeCoo& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
