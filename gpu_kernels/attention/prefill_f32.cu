// SPDX-License-Identifier: Apache-2.0
//
// The prefill kernel over f32 values.
#include "attention/prefill_kernel.cuh"

namespace tandem::gpu_kernels {

cudaError_t prefill_f32(const PrefillJob& job, int num_tiles, cudaStream_t stream) {
  return launch_prefill<float, true>(job, num_tiles, stream);
}

}  // namespace tandem::gpu_kernels
