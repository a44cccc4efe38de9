// SPDX-License-Identifier: Apache-2.0
//
// The prefill kernel over e4m3 values.
#include "attention/prefill_kernel.cuh"

namespace tandem::gpu_kernels {

cudaError_t prefill_e4m3(const PrefillJob& job, int num_tiles, cudaStream_t stream) {
  return launch_prefill<E4M3, true>(job, num_tiles, stream);
}

}  // namespace tandem::gpu_kernels
