// SPDX-License-Identifier: Apache-2.0
//
// Exact top-k of a range: the places of the k largest |value|, ascending; of equal magnitudes the
// lower place.
//
// A NaN is never taken, so there are fewer than k entries if fewer are numbers. The result is that
// of a sort, on every run. Radix selection: a histogram of the upper 11 bits of all magnitudes
// leaves a bitmap of candidates; two more histograms of 10 bits read those only. Graph-safe: no
// allocation, no synchronisation; the caller owns `workspace`. Errors: cudaErrorInvalidValue for a
// range that does not lie in [0, 2^32 - 1].
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tandem::gpu_kernels {

// A memset and twelve launches. They transfer 8 bytes per value, 7/8 of a byte per value for the
// bitmap, and 16 bytes and the unused parts of sectors per candidate. A candidate's upper 11 bits
// are at least those of the k-th largest magnitude, so if all are equal, all are candidates.
struct SelectTop {
  const float* values = nullptr;  // [end] at least
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t count = 0;               // k
  std::uint32_t* indices = nullptr;      // [min(count, end - begin)] counted from values[0]
  float* values_out = nullptr;           // [min(count, end - begin)]
  std::uint32_t* num_entries = nullptr;  // [1] device memory: min(count, numbers in the range)
  // [1] device memory, or null: the k-th largest |value|'s bits; 0 if there are fewer numbers; not
  // for count 0
  std::uint32_t* smallest_bits = nullptr;
  void* workspace = nullptr;  // select_top_workspace_bytes(), aligned to 4
};

std::size_t select_top_workspace_bytes(std::uint64_t begin, std::uint64_t end);

cudaError_t select_top(const SelectTop& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
