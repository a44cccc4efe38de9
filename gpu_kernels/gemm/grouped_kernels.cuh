// SPDX-License-Identifier: Apache-2.0
//
// Launchers of the kernels behind grouped_product.h, one per kind of weight. Each kernel is in the
// source of its counterpart for a single weight and shares its code. Threads: any. The caller
// checks types and rows.
#pragma once

#include "gemm/grouped_rows.cuh"

namespace tandem::gpu_kernels {

cudaError_t grouped_narrow(const GroupedProduct& job, cudaStream_t stream);
cudaError_t grouped_dots(const GroupedProduct& job, cudaStream_t stream);
cudaError_t grouped_mma(const GroupedProduct& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
