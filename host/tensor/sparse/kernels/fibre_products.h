// SPDX-License-Identifier: Apache-2.0
//
// A sparse tensor times a vector (TTV) and times a matrix (TTM), along one mode.
//
// Results are in the order of the fibres: TTV gives a sparse tensor of one mode less, TTM a
// semi-sparse one, dense along the mode and sparse in the others. A sum of 0 stays an entry. A
// thread sums a fibre as its indices ascend (long fibres as spmv() does a row), so results do not
// depend on the number of threads. Vectorised for AVX-512, AVX2 and the baseline, chosen at run
// time. Threads: one caller; `pool` runs the fibres. Errors: Error if a vector, matrix or result
// does not fit the tensor. Source: Bader and Kolda, "Efficient MATLAB computations with sparse and
// factored tensors", SIAM J. Sci. Comput. 30(1), 2007; their matrix is ours transposed.
#pragma once

#include <array>
#include <span>

#include "common/thread_pool.h"
#include "tensor/sparse/kernels/fibre_tensor.h"

namespace tandem::sparse {

// What computes a class in place of the loops here; null: those. generated/ makes ones.
using FibreKernels = std::array<RowsFunction, kFibreClasses>;

// out[f] = sum over the entries of fibre f of value * vector[index in the mode]. vector:
// [sizes[mode]]; out: [fibres], is overwritten.
template <typename Value, typename Stored = Value>
void ttv(const FibreTensor<Value, Stored>& tensor, std::span<const Value> vector,
         std::span<Value> out, ThreadPool& pool, const FibreKernels& kernels = {});

// Row f of out = sum of value * row [index in the mode] of the matrix. matrix: sizes[mode] rows;
// out: [fibres] rows of as many columns, is overwritten.
template <typename Value, typename Stored = Value>
void ttm(const FibreTensor<Value, Stored>& tensor, const FactorMatrix<Value>& matrix,
         FactorMatrix<Value>& out, ThreadPool& pool, const FibreKernels& kernels = {});

// The result of ttv() as a tensor, in the order of the fibres. Of order 1 the result is a scalar:
// the one entry of a tensor of size 1.
template <typename Value, typename Stored>
CooTensor to_coo(const FibreTensor<Value, Stored>& tensor, std::span<const Value> values);

// The result of ttm(): `mode` has an index for each column.
template <typename Value, typename Stored>
CooTensor to_coo(const FibreTensor<Value, Stored>& tensor, const FactorMatrix<Value>& values);

}  // namespace tandem::sparse
