// SPDX-License-Identifier: Apache-2.0
//
// Chunk-wise top-k: of every 4,096 values the largest, as 12-bit places and 2-bit values.
//
// A chunk's message: the lower and the upper level (f32 each), then ascending places, then codes,
// packed from the lowest bit on, padded to a byte. Code: bit 0 the sign, bit 1 the upper level. The
// lower level is the mean of the magnitudes below the mean of all magnitudes; the upper level is
// the mean of the others. Byte for byte the message of the CPU's chunk_topk; of equal magnitudes
// the lower place is taken. Graph-safe: no allocation, no synchronisation, no workspace. Errors:
// cudaErrorInvalidValue for counts out of range.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tandem::gpu_kernels {

inline constexpr std::uint32_t kChunkValues = 4096;

// The bytes of a chunk with `count` entries.
__host__ __device__ constexpr std::size_t chunk_bytes(std::uint32_t count) {
  return 2 * sizeof(float) + (std::size_t{count} * 14 + 7) / 8;
}

// The last chunk has the remaining values. One launch, a block per chunk; 34 KB of shared memory.
// Bytes: 4 per value, and the message. One thread adds up the levels, in the CPU's order: two f64
// additions per entry. With values that are not finite the message is unspecified.
struct PackChunks {
  const float* values = nullptr;  // [num_values] finite
  std::uint64_t num_values = 0;
  std::uint32_t count = 1;           // entries of a whole chunk: 1 to 4,096
  std::uint32_t last_count = 1;      // of the last chunk: 1 to its size; `count` if it is whole
  unsigned char* message = nullptr;  // [chunks_message_bytes()]
};

std::size_t chunks_message_bytes(std::uint64_t num_values, std::uint32_t count,
                                 std::uint32_t last_count);

cudaError_t pack_chunks(const PackChunks& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
