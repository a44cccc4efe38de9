// SPDX-License-Identifier: Apache-2.0
//
// RowMatrix: a sparse matrix by rows in the type of its kernels, and the products over its rows.
//
// All products give each thread consecutive rows with about equal numbers of
// entries. One thread computes a row, in a fixed order, so results do not depend on the number of
// threads. Vectorised for AVX-512, AVX2 and the baseline, chosen at run time. Dense matrices are
// FactorMatrix, with rows padded by zeros. Values may be kept as bf16 for
// products in f32. Threads: one caller; `pool` runs the rows. Errors: Error
// if the order is not 2, and for more than 2^31 columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/raw_vector.h"
#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"
#include "tensor/sparse/kernels/mttkrp.h"
#include "tensor/sparse/kernels/stored_value.h"

namespace tandem::sparse {

template <typename Value, typename Stored = Value>
struct RowMatrix {
  std::uint64_t rows = 0, columns = 0;
  RawVector<std::uint64_t> begins;  // [rows + 1]
  RawVector<std::int32_t> indices;  // [num_entries] columns, ascending in a row
  RawVector<Stored> values;         // [num_entries]

  std::size_t size_bytes() const {
    return begins.size() * 8 + indices.size() * 4 + values.size() * sizeof(Stored);
  }
};

// Rows [first, last) of a matrix by rows, or block rows of one by blocks. `columns`: index type.
struct RowsCall {
  const std::uint64_t* begins = nullptr;  // [rows + 1]
  const void* indices = nullptr;          // [entries] i32 or i64
  const void* values = nullptr;           // [entries, block_rows, block_columns]
  std::uint64_t first = 0, last = 0;
  const void* left = nullptr;   // sddmm, attention: [rows, columns]
  const void* right = nullptr;  // [inputs, columns]; spmv: [inputs]
  const void* bias = nullptr;   // [rows] if the pattern has one
  const void* mixed = nullptr;  // attention: values [inputs, columns]
  double scale = 1;             // attention
  void* out = nullptr;          // spmm: [rows, columns]; sddmm: [entries]; spmv: [rows]
};

// What computes rows in place of the loops here; generated/ makes ones for a pattern.
using RowsFunction = void (*)(const RowsCall*);

// Sums duplicates.
template <typename Value, typename Stored = Value>
RowMatrix<Value, Stored> row_matrix(CooTensor matrix, ThreadPool& pool);

// y[i] = sum over the row's entries of value * x[column]. x: [columns], y: [rows]. kernel: null:
// the loops here; else of this product, type and i32 indices, as in the products below.
template <typename Value, typename Stored = Value>
void spmv(const RowMatrix<Value, Stored>& matrix, std::span<const Value> x, std::span<Value> y,
          ThreadPool& pool, RowsFunction kernel = nullptr);

// out row = sum over the row's entries of value * dense row [column]. dense: [columns] rows.
template <typename Value, typename Stored = Value>
void row_spmm(const RowMatrix<Value, Stored>& matrix, const FactorMatrix<Value>& dense,
              FactorMatrix<Value>& out, ThreadPool& pool, RowsFunction kernel = nullptr);

// out[e] = value of entry e * dot(left row of its row, right row of its column). out: [entries]
template <typename Value, typename Stored = Value>
void sddmm(const RowMatrix<Value, Stored>& matrix, const FactorMatrix<Value>& left,
           const FactorMatrix<Value>& right, std::span<Value> out, ThreadPool& pool,
           RowsFunction kernel = nullptr);

// Attention over the entries only: scores s = scale * value * dot(query row, key row), weights =
// softmax of a row's scores, out row = sum of weights * value row. A row without entries gives
// zeros. SDDMM, softmax and SpMM run in one pass: the scores of a row stay in the caches. A kernel
// needs queries, keys and values of one stride.
template <typename Value>
struct SparseAttention {
  const FactorMatrix<Value>*queries = nullptr, *keys = nullptr, *values = nullptr;
  Value scale = 1;
};
template <typename Value, typename Stored = Value>
void sparse_attention(const RowMatrix<Value, Stored>& matrix, const SparseAttention<Value>& inputs,
                      FactorMatrix<Value>& out, ThreadPool& pool, RowsFunction kernel = nullptr);

}  // namespace tandem::sparse
