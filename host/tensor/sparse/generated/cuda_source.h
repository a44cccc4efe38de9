// SPDX-License-Identifier: Apache-2.0
//
// CUDA source of a pattern's kernel, for NVRTC: an instance of gpu_kernels/sparse/row_products.cuh,
// whose text this library holds.
//
// `extern "C" __global__ void tandem_kernel(Job)`, where Job is RowSums (mttkrp, spmm, spmv, ttv,
// ttm) or EntryDots (sddmm, attention) of row_jobs.h. A block has 256 threads and takes 8 rows; of
// ttv with a fixed number of entries it takes 256 fibres. What the pattern fixes is a constant in
// the source: number of factors, columns, entries of a fibre, bias and activation. Rows are not
// divided into parts. Pure functions; threads: any.
#pragma once

#include <string>
#include <vector>

#include "tensor/sparse/generated/kernel_pattern.h"

namespace tandem::sparse {

// f32 values without blocks, and a number of columns that suits a warp: 16, or a multiple of 32 up
// to 256; dot products (sddmm, attention) need the multiple of 32. Index: i32; mttkrp has its own.
bool is_in_cuda_grammar(const KernelPattern& pattern);

// All patterns of the grammar with at most this many columns.
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
