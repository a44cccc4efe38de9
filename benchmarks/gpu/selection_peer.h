// SPDX-License-Identifier: Apache-2.0
//
// The selections of the benchmark by its peer CUB, which comes with CUDA's toolkit.
//
// Both only enqueue; arrays are in device memory. If workspace is null, they only write its size.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tandem::bench {

// The places of values with |value| >= threshold. indices: [num_values]; count: [1].
cudaError_t cub_select_large(void* workspace, std::size_t* workspace_bytes, const float* values,
                             std::uint32_t num_values, float threshold, std::uint32_t* indices,
                             std::uint32_t* count, cudaStream_t stream);

// Sorts places by magnitude, largest first. keys and places: [2][num_values], the input (|value|'s
// bits and 0, 1, ...) in the first half, the output in the second.
cudaError_t cub_sort_by_magnitude(void* workspace, std::size_t* workspace_bytes,
                                  std::uint32_t* keys, std::uint32_t* places,
                                  std::uint32_t num_values, cudaStream_t stream);

}  // namespace tandem::bench
