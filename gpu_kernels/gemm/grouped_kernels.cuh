// SPDX-License-Identifier: Apache-2.0
//
// The kernels of grouped_product.h, by their kind; each stands beside its counterpart for one
// weight, whose code it shares. Launch only; types and rows were checked.
#pragma once

#include "gemm/grouped_rows.cuh"

namespace tandem::gpu_kernels {

cudaError_t grouped_narrow(const GroupedProduct& job, cudaStream_t stream);
cudaError_t grouped_dots(const GroupedProduct& job, cudaStream_t stream);
cudaError_t grouped_mma(const GroupedProduct& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
