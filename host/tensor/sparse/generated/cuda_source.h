// SPDX-License-Identifier: Apache-2.0
//
// CUDA source of a pattern's kernel, for NVRTC: an instance of gpu_kernels/sparse/row_products.cuh,
// whose text this library holds.
//
// `extern "C" __global__ void tandem_kernel(Job)`, where Job is RowSums (mttkrp, spmm, spmv, ttv,
// ttm) or EntryDots (sddmm, attention) of row_jobs.h, in blocks of 256 threads that take 8 rows; of
// ttv with a fixed number of entries, 256 fibres. What the pattern fixes is a constant: factors,
// columns, entries, the end, one part. Pure functions; threads: any.
#pragma once

#include <string>
#include <vector>

#include "tensor/sparse/generated/kernel_pattern.h"

namespace tandem::sparse {

// f32 values in no blocks, and columns that a warp divides: 16, or a multiple of 32 up to 256.
// Dot products (sddmm, attention) need whole warps. Index: i32; mttkrp has its own.
bool is_in_cuda_grammar(const KernelPattern& pattern);

// Every pattern of it up to these columns.
std::vector<KernelPattern> cuda_grammar_points(std::size_t most_columns);

// TANDEM_CHECK for a pattern that is not in the grammar.
std::string cuda_source(const KernelPattern& pattern);

// A header that the source includes, by the name of the include.
struct CudaHeader {
  const char* name;
  const char* text;
};
const std::vector<CudaHeader>& cuda_headers();

}  // namespace tandem::sparse
