// SPDX-License-Identifier: Apache-2.0
//
// TensorMap: the description of a matrix that a kernel copies box by box (tensor_copy.cuh).
//
// Made on the host and passed to the kernel by value. It holds the matrix's address and is valid as
// long as the matrix. Cost: a microsecond on the host. Threads: any. Errors: the runtime's if the
// driver has no such function, cudaErrorInvalidValue for a matrix that the driver refuses. Source:
// CUDA Driver API, "Tensor Map Object Management".
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem::gpu_kernels {

struct alignas(128) TensorMap {
  unsigned char bytes[128];
};

struct BoxedMatrix {
  const void* values = nullptr;  // [num_rows, num_columns] of 16 bits, aligned to 16
  std::uint64_t num_rows = 0;    // below 2^31
  unsigned num_columns = 0;      // a multiple of 64
  unsigned box_rows = 0;         // 1..256; a box has 64 columns
};

cudaError_t make_tensor_map(const BoxedMatrix& matrix, TensorMap& map);

}  // namespace tandem::gpu_kernels
