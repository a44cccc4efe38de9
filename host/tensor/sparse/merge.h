// SPDX-License-Identifier: Apache-2.0
//
// Merging sparse vectors: the union of their indices, values reduced in the order of the inputs.
//
// The order of additions at every index is the order of `parts`, for every algorithm, so results
// are bitwise reproducible. Max: over the parts that hold the index; NaN wins. Cost: see merge.cpp.
// Threads: any, on different outputs. Errors: std::bad_alloc.
#pragma once

#include <span>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

// parts: of one domain and type, at least one.
SparseVector merge(std::span<const SparseVector> parts, Reduction reduction);

// dense[i] = reduce(dense[i], vector[i]) for every entry.
void reduce_into(DenseVector& dense, const SparseVector& vector, Reduction reduction);

// All units that differ from the identity of `reduction` in any value (a NaN differs).
SparseVector compact(const DenseVector& dense, Reduction reduction);

// Divides every value by `divisor` (mean; u64 rounds down).
void divide(SparseVector& vector, int divisor);

// Rounds values to the precision of `wire` (f16 or bf16; does nothing if the vector already has
// that type), so that a rank keeps the same values that it sends to its peers.
void round_to_wire(SparseVector& vector, DType wire);

}  // namespace tandem::sparse
