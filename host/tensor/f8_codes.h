// SPDX-License-Identifier: Apache-2.0
//
// What the codes of an e4m3 matrix must be before it is multiplied: none is NaN's.
//
// Compute units read such a code as NaN or as the number that its bits would be otherwise (480),
// whichever is cheapest for them, so a matrix that holds one is refused when it is loaded. Errors:
// Error("tensor", "'NAME', row R, column C: ..."). Threads: the pool's, used alone. Cost: one pass
// over the codes, which whoever loads reads at once anyway.
#pragma once

#include "common/thread_pool.h"
#include "tensor/tensor_view.h"

namespace tandem {

// Matrices of other types pass.
void check_f8_codes(const TensorView& matrix, ThreadPool& pool);

}  // namespace tandem
