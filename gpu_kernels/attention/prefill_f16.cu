// SPDX-License-Identifier: Apache-2.0
//
// The prefill kernel over f16 values, exact and not.
#include "attention/prefill_kernel.cuh"

namespace tandem::gpu_kernels {

cudaError_t prefill_f16(const PrefillJob& job, int num_tiles, bool exact, cudaStream_t stream) {
  return exact ? launch_prefill<F16, true>(job, num_tiles, stream)
               : launch_prefill<F16, false>(job, num_tiles, stream);
}

}  // namespace tandem::gpu_kernels
