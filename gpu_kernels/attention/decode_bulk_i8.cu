// SPDX-License-Identifier: Apache-2.0
//
// The decode kernels of the Hopper path over KV stored as i8.
#include "attention/decode_bulk.cuh"

namespace tandem::gpu_kernels {

template cudaError_t launch_bulk_decode<KvType::kI8>(const DecodeBucket&, const DecodeLaunch&,
                                                     cudaStream_t);

}  // namespace tandem::gpu_kernels
