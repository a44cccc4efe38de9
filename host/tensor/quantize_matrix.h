// SPDX-License-Identifier: Apache-2.0
//
// Converts whole matrices from one type of weight to another, rows in parallel.
//
// Rows go through f32 in the calling threads' caches; nothing larger than a row is allocated.
// Threads: the pool's, used alone. Errors: those of quantize_row(), naming the matrix and the row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/thread_pool.h"
#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace tandem {

// The type that a matrix [*, columns] of type `from` gets if `wanted` is requested. It is `wanted`
// if its blocks divide the rows. Otherwise, for the K types, it is the type with blocks of 32 and
// the same precision (q4_k: q4_1, q5_k: q5_1, q6_k: q8_0), if these blocks divide the rows. In all
// other cases it is `from`; also if the new type would not be smaller, or if f8_e4m3 is wanted and
// `from` is quantised, because the conversion could only lose precision.
DType fitting_type(DType wanted, DType from, std::int64_t columns);

// `result`: [rows, columns] in `to` (not f8_e4m3), whose blocks must divide the rows; rows *
// dtype_row_bytes().
void quantize_matrix(const TensorView& from, DType to, std::byte* result, ThreadPool& pool);

// Converts to f8_e4m3. The scale of a row makes its largest magnitude 448. codes: [rows, columns],
// scales: [rows].
void quantize_matrix_to_f8(const TensorView& from, std::byte* codes, float* scales,
                           ThreadPool& pool);

}  // namespace tandem
