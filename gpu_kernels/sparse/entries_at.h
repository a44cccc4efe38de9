// SPDX-License-Identifier: Apache-2.0
//
// Dense values at given places: read, cleared, or added to.
//
// Places are unique, in any order. If a place occurs twice, the result at this place is undefined.
// An entry whose place is not below num_values is skipped (its value reads as 0), and sets *faults.
// Numerics: one rounding per division and per addition. Graph-safe: no allocation, no
// synchronisation, no workspace. One launch each. Errors: cudaErrorInvalidValue for more than 2^32
// - 2,049 entries.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

// values_out[i] = values[indices[i]]. Bytes per entry: 8, and a sector.
struct GatherAt {
  const float* values = nullptr;  // [num_values]
  std::uint64_t num_values = 0;
  const std::uint32_t* indices = nullptr;  // [num_entries]
  std::uint32_t num_entries = 0;
  float* values_out = nullptr;      // [num_entries]
  std::uint32_t* faults = nullptr;  // [1] device memory; set to 1 by a wrong place
};

cudaError_t gather_at(const GatherAt& job, cudaStream_t stream);

// first[indices[i]] = 0, and the same of `second` if there is one. Bytes per entry: 4, and a sector
// per array.
struct ClearAt {
  float* first = nullptr;   // [num_values]
  float* second = nullptr;  // [num_values] or null
  std::uint64_t num_values = 0;
  const std::uint32_t* indices = nullptr;  // [num_entries]
  std::uint32_t num_entries = 0;
  std::uint32_t* faults = nullptr;  // [1]
};

cudaError_t clear_at(const ClearAt& job, cudaStream_t stream);

// to[indices[i]] += values[i] / divisor, or = with `replaces`. Bytes per entry: 8, and a sector
// read and written. cudaErrorInvalidValue for another type than f32, f16, bf16.
struct AddAt {
  void* to = nullptr;  // [num_values] of `type`; sums are rounded to it
  ValueType type = ValueType::kF32;
  std::uint64_t num_values = 0;
  const std::uint32_t* indices = nullptr;  // [num_entries]
  const float* values = nullptr;           // [num_entries]
  std::uint32_t num_entries = 0;
  float divisor = 1;  // the number of ranks, for a mean
  bool replaces = false;
  std::uint32_t* faults = nullptr;  // [1]
};

cudaError_t add_at(const AddAt& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
