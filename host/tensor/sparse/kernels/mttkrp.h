// SPDX-License-Identifier: Apache-2.0
//
// mttkrp: matricised tensor times Khatri-Rao product, the core of CP decompositions.
//
// out[i, r] = sum over the entries with index i in `mode` of value * product over the other modes m
// of factors[m][index in m, r]. For order 2 it is a sparse matrix times a dense one. Each thread
// gets consecutive blocks with about equal numbers of entries. It adds into its own copy of the
// rows that its blocks touch. The copies are then added in the order of the threads, so results
// with different numbers of threads differ by rounding. Memory: the copies. Vectorised for AVX-512,
// AVX2 and the baseline, chosen at run time. Threads: one caller; `pool` runs the parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/aligned_vector.h"
#include "common/thread_pool.h"
#include "tensor/sparse/kernels/block_partition.h"
#include "tensor/sparse/kernels/mttkrp_block.h"

namespace tandem::sparse {

// Rows of `columns` values, each padded with zeros to a multiple of kFactorStep.
constexpr std::size_t kFactorStep = 16;

template <typename Value>
struct FactorMatrix {
  FactorMatrix() = default;
  FactorMatrix(std::uint64_t num_rows, std::size_t num_columns)
      : rows(num_rows),
        columns(num_columns),
        stride((num_columns + kFactorStep - 1) / kFactorStep * kFactorStep),
        values(num_rows * stride) {}

  Value* row(std::uint64_t index) { return values.data() + index * stride; }
  const Value* row(std::uint64_t index) const { return values.data() + index * stride; }

  std::uint64_t rows = 0;
  std::size_t columns = 0, stride = 0;
  AlignedVector<Value> values;  // [rows, stride]
};

// What adds a block; generated/ makes ones for an order, a mode and a stride.
template <typename Value>
using MttkrpFunction = void (*)(const MttkrpBlock<Value>*);

// factors: [order] of sizes[m] rows and equal columns; the factor of `mode` is not read. Overwrites
// `out`, which has sizes[mode] rows. kernel: null: add_block().
template <typename Value>
void mttkrp(const BlockPartition<Value>& tensor, std::span<const FactorMatrix<Value>> factors,
            std::size_t mode, FactorMatrix<Value>& out, ThreadPool& pool,
            MttkrpFunction<Value> kernel = nullptr);

extern template void mttkrp(const BlockPartition<float>&, std::span<const FactorMatrix<float>>,
                            std::size_t, FactorMatrix<float>&, ThreadPool&, MttkrpFunction<float>);
extern template void mttkrp(const BlockPartition<double>&, std::span<const FactorMatrix<double>>,
                            std::size_t, FactorMatrix<double>&, ThreadPool&,
                            MttkrpFunction<double>);

}  // namespace tandem::sparse
