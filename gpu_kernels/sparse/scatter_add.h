// SPDX-License-Identifier: Apache-2.0
//
// Scatter-add: adds the entries of one source to dense values, and sets their bits in a presence
// bitmap.
//
// Call it once per source (or per piece of a source), in rank order, on one stream. Positions
// inside a source are unique, so no two threads of a launch write the same value, and every
// position adds in rank order, the same on every run. Graph-safe: no allocation, no
// synchronisation, no workspace. Numerics: f16 and bf16 are widened to f32 first; one rounding per
// addition; subnormals are kept. A NaN result is the canonical NaN; the payload of its operands is
// lost.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

// The first entry at a position is stored, not added. So dense values need no initialisation, and
// -0 stays -0; only the bitmap must be zero before the first source. `maximum`: max over the
// present entries, where NaN wins; else the sum. Bytes per f32 entry: 8 read, and a read and a
// write of a 32-byte sector each for value and bit, less if neighbours share them.
struct ScatterAdd {
  const std::uint32_t* positions = nullptr;  // [num_entries] unique
  const void* values = nullptr;              // [num_entries] of `type`, aligned to it
  ValueType type = ValueType::kF32;
  std::uint32_t num_entries = 0;  // below 2^32 - 2,048
  bool maximum = false;
  std::uint64_t num_positions = 0;   // at most 2^32
  void* dense = nullptr;             // [num_positions] f32 for f16 and bf16, else of `type`
  std::uint32_t* present = nullptr;  // [ceil(num_positions / 32)]
  std::uint32_t* faults = nullptr;   // [1] becomes non-zero if a position is out of range
};

cudaError_t scatter_add(const ScatterAdd& job, cudaStream_t stream);

// Checks a coo32 body from another rank, and widens its values. *faults becomes non-zero for a
// position out of range, and when indices do not ascend.
struct DecodeCoo {
  // coo32: [num_entries] u32, then [num_entries] of `type`; aligned to 4
  const void* body = nullptr;
  ValueType type = ValueType::kF32;
  std::uint32_t num_entries = 0;
  std::uint64_t num_positions = 0;
  std::uint32_t* indices = nullptr;  // [num_entries]
  void* values_out = nullptr;        // [num_entries] f32 for f16 and bf16, else of `type`
  std::uint32_t* faults = nullptr;   // [1]
};

cudaError_t decode_coo(const DecodeCoo& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
