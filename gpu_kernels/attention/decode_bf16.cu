// SPDX-License-Identifier: Apache-2.0
//
// The decode kernels over KV stored as bf16.
#include "attention/decode_kernel.cuh"

namespace tandem::gpu_kernels {

template cudaError_t launch_decode<KvType::kBF16>(const DecodeBucket&, const DecodeLaunch&,
                                                  cudaStream_t);

}  // namespace tandem::gpu_kernels
