// SPDX-License-Identifier: Apache-2.0
//
// GeneratedKernels: kernels compiled for a pattern, and the measured table that says where they are
// faster than the generic ones.
//
// A null function means: use the generic kernel, which every caller has. faster_mttkrp() and
// faster_rows() run both with the caller's tensor in turns, once for each pattern of this object.
// They compile only if the library is there already or the calls to come take so long that a
// compilation can pay.
// Threads: one caller; `pool` runs the kernels. Errors: none thrown; cache().reason() tells.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/function_ref.h"
#include "tensor/sparse/generated/cpu_source.h"
#include "tensor/sparse/generated/kernel_cache.h"
#include "tensor/sparse/kernels/fibre_products.h"
#include "tensor/sparse/kernels/mttkrp.h"

namespace tandem::sparse {

// Seconds of a call, the medians of turns.
struct KernelSpeed {
  std::string key;
  double generic_seconds = 0, generated_seconds = 0;
  // Noise must not choose.
  bool generated_pays() const { return generated_seconds < 0.97 * generic_seconds; }
};

// The pattern of mttkrp() with these factors. It may be outside the grammar.
template <typename Value>
KernelPattern mttkrp_pattern(std::size_t order, std::size_t mode, std::size_t stride);

// The pattern of spmv(), row_spmm(), sddmm() or sparse_attention() with dense rows of this stride
// (1 for spmv). Stored: of the sparse matrix.
template <typename Stored>
KernelPattern rows_pattern(KernelProduct product, std::size_t stride);

// The same of ttv() (stride 1) or ttm() over the fibres of a class.
template <typename Stored>
KernelPattern fibres_pattern(KernelProduct product, std::size_t stride, std::size_t fibre_class);

class GeneratedKernels {
 public:
  explicit GeneratedKernels(KernelCacheOptions options) : cache_(std::move(options)) {}

  // Null if the pattern is not in the grammar, or its library cannot be had.
  template <typename Value>
  MttkrpFunction<Value> mttkrp(const KernelPattern& pattern);
  RowsFunction rows(const KernelPattern& pattern);

  // The faster one for this tensor, of which `calls` more will follow. Overwrites `out`.
  template <typename Value>
  MttkrpFunction<Value> faster_mttkrp(const BlockPartition<Value>& tensor,
                                      std::span<const FactorMatrix<Value>> factors,
                                      std::size_t mode, FactorMatrix<Value>& out, ThreadPool& pool,
                                      double calls);

  // The same for a product over rows; run: calls it with a kernel.
  RowsFunction faster_rows(const KernelPattern& pattern, FunctionRef<void(RowsFunction)> run,
                           double calls);

  const std::vector<KernelSpeed>& table() const { return table_; }
  const KernelCache& cache() const { return cache_; }

 private:
  void* find(const KernelPattern& pattern);
  void* faster(const KernelPattern& pattern, FunctionRef<void(void*)> run, double calls);

  KernelCache cache_;
  std::vector<KernelSpeed> table_;
};

}  // namespace tandem::sparse
