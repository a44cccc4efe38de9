// SPDX-License-Identifier: Apache-2.0
//
// Launchers of the two variants of quantised_product.h, and their arguments. Threads: any. The
// caller checks shapes.
#pragma once

#include "gemm/grouped_kernels.cuh"
#include "gemm/packed_layout.cuh"
#include "gemm/quantised_product.h"

namespace tandem::gpu_kernels {

template <typename Outputs>
struct QuantisedRowsOf {
  Outputs outputs;
  std::int64_t in_features = 0;
  const std::int8_t* x = nullptr;  // [rows, in_features]
  const Q8Note* notes = nullptr;   // [rows, in_features / 32]
};
using QuantisedRows = QuantisedRowsOf<FewRows>;

// False if no kernel can compute the job.
inline bool plan_grouped_quantised(const GroupedProduct& job, QuantisedRowsOf<GroupedRows>& rows) {
  const std::int64_t group = kGroupSlabs * kSlabValues;
  rows.in_features = job.in_features;
  rows.x = static_cast<const std::int8_t*>(job.x);
  rows.notes = job.notes;
  return plan_grouped_rows(job, (job.in_features + group - 1) / group, rows.outputs);
}

cudaError_t quantised_dots(StoredType type, const QuantisedRows& job, cudaStream_t stream);
cudaError_t quantised_mma(StoredType type, const QuantisedRows& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
