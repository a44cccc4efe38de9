// SPDX-License-Identifier: Apache-2.0
//
// One-warp kernels around the functions of common/mma.cuh, for their test.
//
// All matrices are row-major in device memory. Products are C[16, 8] += A B, with B given
// transposed, [8, depth].
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem::gpu_kernels {

enum class ProbeType { kHalf, kBfloat };

// A [16, 16] and B^T [8, 16] of 16-bit values, C f32.
cudaError_t probe_product(ProbeType type, const std::uint16_t* a, const std::uint16_t* b, float* c);

// A [16, 32] and B^T [8, 32] of signed bytes, C int32.
cudaError_t probe_byte_product(const std::int8_t* a, const std::int8_t* b, std::int32_t* c);

// from: [16, 16]; the four 8 x 8 matrices are its quarters, upper left, lower left, upper right,
// lower right. to: [32 lanes, 4].
cudaError_t probe_load(const std::uint16_t* from, bool transposed, std::uint32_t* to);

// values: [32, 2]; parts: [32, 2], high and low words.
cudaError_t probe_split(ProbeType type, const float* values, std::uint32_t* parts);

}  // namespace tandem::gpu_kernels
