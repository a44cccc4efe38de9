// SPDX-License-Identifier: Apache-2.0
//
// The Hopper prefill kernels of f16 and bf16 values; compiled for sm_90a only.
#include "attention/prefill_hopper.cuh"

#include "attention/prefill.h"

namespace tandem::gpu_kernels {
namespace {

template <typename Traits>
cudaError_t start(const PrefillJob& job, const TensorMap& map, int num_tiles, cudaStream_t stream) {
  constexpr std::size_t kBytes = kHopperBlockBytes<Traits>;
  static_assert(kBytes == prefill_hopper_block_bytes(Traits::kDim, Traits::kParts == 2));
  const dim3 grid(static_cast<unsigned>(num_tiles), static_cast<unsigned>(job.kv_heads));
  return launch_shared(stream, grid, kHopperThreads, kBytes, prefill_hopper_tile<Traits>, job, map);
}

template <typename Operand, int kWidth, bool kIsExact>
cudaError_t start_capped(const PrefillJob& job, const TensorMap& map, int num_tiles,
                         cudaStream_t stream) {
  return job.softcap > 0.0f
             ? start<HopperTraits<Operand, kWidth, kIsExact, true>>(job, map, num_tiles, stream)
             : start<HopperTraits<Operand, kWidth, kIsExact, false>>(job, map, num_tiles, stream);
}

template <typename Operand, int kWidth>
cudaError_t start_of_width(const PrefillJob& job, const TensorMap& map, const PrefillBucket& bucket,
                           cudaStream_t stream) {
  return bucket.shape.exact
             ? start_capped<Operand, kWidth, true>(job, map, bucket.num_tiles, stream)
             : start_capped<Operand, kWidth, false>(job, map, bucket.num_tiles, stream);
}

template <typename Operand>
cudaError_t start_of_type(const PrefillJob& job, const TensorMap& map, const PrefillBucket& bucket,
                          cudaStream_t stream) {
  return kv_row_values(job.head_dim) == 64 ? start_of_width<Operand, 64>(job, map, bucket, stream)
                                           : start_of_width<Operand, 128>(job, map, bucket, stream);
}

}  // namespace

bool has_hopper_prefill() {
  cudaFuncAttributes attributes;
  const auto kernel = prefill_hopper_tile<HopperTraits<Half, 64, true, false>>;
  const cudaError_t error =
      cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
  if (error != cudaSuccess) cudaGetLastError();  // clears it
  return error == cudaSuccess;
}

cudaError_t prefill_hopper(const PrefillJob& job, const PrefillBucket& bucket,
                           cudaStream_t stream) {
  if (job.num_rows >= 1u << 31) return cudaErrorInvalidValue;
  const auto width = static_cast<unsigned>(kv_row_values(job.head_dim));
  TensorMap map;
  const cudaError_t error = make_tensor_map({job.values, job.num_rows, width, kCopyTokens}, map);
  if (error != cudaSuccess) return error;
  return bucket.shape.type == KvType::kF16 ? start_of_type<Half>(job, map, bucket, stream)
                                           : start_of_type<Bfloat>(job, map, bucket, stream);
}

}  // namespace tandem::gpu_kernels
