// SPDX-License-Identifier: Apache-2.0
//
// Chooses the kernel of a grouped product.
#include "gemm/grouped_product.h"

#include "gemm/grouped_kernels.cuh"
#include "gemm/narrow_product.h"
#include "gemm/quantised_product.h"

namespace tandem::gpu_kernels {
namespace {

int at_most(int rows, int most) { return rows < most ? rows : most; }

}  // namespace

// The mma of bytes has 8 rows or 16: 16 where a weight may have more than 8.
int grouped_tile_rows(StoredType type, int rows) {
  return at_most(rows, is_packable(type) ? kMaxQuantisedRows : kMaxNarrowRows);
}

bool takes_grouped(StoredType type, std::int64_t in_features) {
  if (in_features < 1 || in_features > 0x7fffffff) return false;
  if (is_packable(type)) return in_features % values_per_block(type) == 0;
  return row_bytes(type, static_cast<std::size_t>(in_features)) % 16 == 0;
}

cudaError_t grouped_product(const GroupedProduct& job, cudaStream_t stream) {
  if (job.rows < 1 || !takes_grouped(job.type, job.in_features)) return cudaErrorInvalidValue;
  if (!is_packable(job.type)) return grouped_narrow(job, stream);
  return job.rows <= kDotRows ? grouped_dots(job, stream) : grouped_mma(job, stream);
}

}  // namespace tandem::gpu_kernels
