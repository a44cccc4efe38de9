// SPDX-License-Identifier: Apache-2.0
//
// Asks for the driver's function at the first call: programs start without a driver.
#include "common/tensor_map.h"

#include <cuda.h>

#include <cstring>

namespace tandem::gpu_kernels {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

struct Encoder {
  Encode encode = nullptr;
  cudaError_t error = cudaSuccess;
};

Encoder find_encoder() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                             12000, cudaEnableDefault, &result);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess) return {nullptr, error};
  if (result != cudaDriverEntryPointSuccess) return {nullptr, cudaErrorSymbolNotFound};
  return {reinterpret_cast<Encode>(found), cudaSuccess};
}

}  // namespace

cudaError_t make_tensor_map(const BoxedMatrix& matrix, TensorMap& map) {
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) &&
                alignof(TensorMap) >= alignof(CUtensorMap));
  static const Encoder encoder = find_encoder();
  if (encoder.encode == nullptr) return encoder.error;
  const cuuint64_t sizes[2] = {matrix.num_columns, matrix.num_rows};
  const cuuint64_t row_bytes[1] = {cuuint64_t{matrix.num_columns} * 2};
  const cuuint32_t box[2] = {64, matrix.box_rows}, steps[2] = {1, 1};
  CUtensorMap made;
  const CUresult result = encoder.encode(
      &made, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, const_cast<void*>(matrix.values), sizes, row_bytes,
      box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return cudaErrorInvalidValue;
  std::memcpy(&map, &made, sizeof(map));
  return cudaSuccess;
}

}  // namespace tandem::gpu_kernels
