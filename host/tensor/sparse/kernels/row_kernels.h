// SPDX-License-Identifier: Apache-2.0
//
// The vectorised loops over one row of a sparse matrix, used by row_matrix.cpp.
//
// Plain arguments. `stride`: values between rows of a dense matrix, a multiple of kFactorStep.
// Threads: any, on different results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/sparse/kernels/stored_value.h"

namespace tandem::sparse {

template <typename Stored>
struct SparseRow {
  const std::int32_t* indices = nullptr;  // [num_entries]
  const Stored* values = nullptr;         // [num_entries]
  std::size_t num_entries = 0;
};

// The sum of value * x[index].
float row_dot(const SparseRow<float>& row, const float* x);
double row_dot(const SparseRow<double>& row, const double* x);
float row_dot(const SparseRow<Bf16>& row, const float* x);

// out[e] = scale * value * dot(left, right + index * stride)
template <typename Value>
struct RowScores {
  const Value *left = nullptr, *right = nullptr;
  std::size_t stride = 0;
  Value scale = 1;
};
void row_scores(const SparseRow<float>& row, const RowScores<float>& dense, float* out);
void row_scores(const SparseRow<double>& row, const RowScores<double>& dense, double* out);
void row_scores(const SparseRow<Bf16>& row, const RowScores<float>& dense, float* out);

// Replaces scores by their softmax.
void softmax(float* scores, std::size_t count);
void softmax(double* scores, std::size_t count);

// out[0 .. stride) = sum of weights[e] * dense[index * stride ..].
template <typename Weight, typename Value>
struct RowMix {
  const std::int32_t* indices = nullptr;  // [num_entries]
  const Weight* weights = nullptr;        // [num_entries]
  std::size_t num_entries = 0;
  const Value* dense = nullptr;
  std::size_t stride = 0;
};
void row_mix(const RowMix<float, float>& mix, float* out);
void row_mix(const RowMix<double, double>& mix, double* out);
void row_mix(const RowMix<Bf16, float>& mix, float* out);

}  // namespace tandem::sparse
