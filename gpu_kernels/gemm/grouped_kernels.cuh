// SPDX-License-Identifier: Apache-2.0
//
// The kernels of grouped_product.h, by their kind. Each is in the source of its counterpart for one
// weight and shares its code. Launch only; the caller checks types and rows.
#pragma once

#include "gemm/grouped_rows.cuh"

namespace tandem::gpu_kernels {

cudaError_t grouped_narrow(const GroupedProduct& job, cudaStream_t stream);
cudaError_t grouped_dots(const GroupedProduct& job, cudaStream_t stream);
cudaError_t grouped_mma(const GroupedProduct& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
