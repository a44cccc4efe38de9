// SPDX-License-Identifier: Apache-2.0
//
// Check of an e4m3 matrix before it is multiplied: no code is NaN.
//
// Some compute units read such a code as NaN, others as 480. A matrix that holds one is therefore
// refused when it is loaded. Errors:
// Error("tensor", "'NAME', row R, column C: ..."). Threads: the pool's, used alone. Cost: one pass
// over the codes, which loading reads in any case.
#pragma once

#include "common/thread_pool.h"
#include "tensor/tensor_view.h"

namespace tandem {

// Throws Error if `matrix` is e4m3 and has a NaN code. Accepts every matrix of another type.
void check_f8_codes(const TensorView& matrix, ThreadPool& pool);

}  // namespace tandem
