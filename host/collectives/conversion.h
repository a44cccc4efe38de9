// SPDX-License-Identifier: Apache-2.0
//
// Conversion between callers' tensors and the working form, with the checks of arguments.
//
// Functions that take a caller's tensor throw Error saying what is wrong with it and what to do;
// the calls report that text to all ranks (agreement.h). 16-bit values widen to f32 exactly and are
// rounded to nearest even on the way back. Threads: any, on different tensors.
#pragma once

#include "collectives/collective.h"
#include "collectives/frames/vocabulary.h"

namespace tandem::collectives {

// Checks shape and type. The bytes of the whole tensor must be a number of 63 bits.
Domain checked_domain(std::uint64_t num_units, std::uint32_t width, DType type);

// Returns the entries sorted. Values of repeated indices are reduced in their order.
SparseVector to_vector(const SparseView& view, Reduction reduction);

// The units that hold a value other than zero. The tensor's length is a multiple of `width`.
SparseVector to_vector(const DenseView& view, std::uint32_t width);

// Every value, zeros too.
DenseVector to_dense_vector(const DenseView& view, Reduction reduction);

// The entries whose units are in [first_unit, end_unit), counted from first_unit.
SparseVector slice(const SparseVector& vector, std::uint64_t first_unit, std::uint64_t end_unit);

SparseTensor to_tensor(const SparseVector& vector, DType type, IndexType index_type);

void write_values(const DenseVector& from, const DenseView& view);

}  // namespace tandem::collectives
