// SPDX-License-Identifier: Apache-2.0
//
// Conversions between a user's memory and SparseVector.
//
// coalesce() accepts indices and values in any order, also repeated ones. It reduces the values of
// repeated indices in the order given, in the accumulation type. extract() takes the units of a
// dense tensor that hold any value other than +0 and -0 (also a NaN). export_*() and scatter()
// convert back and round to nearest even.
// Threads: any, on different outputs. Errors: Error naming the entry and its index; bad_alloc.
// Cost: one pass where the input is sorted and unique; otherwise a radix sort of (index, position)
// and a gather.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

// Borrowed entries.
struct CoalesceInput {
  Domain domain;
  DType type = DType::kF32;      // f32, f16, bf16, f64 or u64
  bool indices_are_u64 = false;  // else u32
  std::size_t num_entries = 0;
  const void* indices = nullptr;  // [num_entries], each below domain.num_units
  const void* values = nullptr;   // [num_entries, domain.width] of type
  bool sorted_unique = false;     // stated by the caller; an entry that is not is an Error
};

SparseVector coalesce(const CoalesceInput& input, Reduction reduction);

// dense: [domain.num_units, domain.width] of type.
SparseVector extract(const void* dense, Domain domain, DType type);

// indices: [num_entries] of u32 or u64. Throws Error if an index does not fit u32.
void export_indices(const SparseVector& vector, bool as_u64, void* indices);

// values: [num_entries, width] of `type`, whose accumulation type is the vector's.
void export_values(const SparseVector& vector, DType type, void* values);

// Writes the whole tensor: the vector's units, and zeroes elsewhere.
// dense: [num_units, width] of type.
void scatter(const SparseVector& vector, DType type, void* dense);

// The same from a dense sum; units that hold the reduction's identity become zeroes.
void scatter(const DenseVector& vector, Reduction reduction, DType type, void* dense);

}  // namespace tandem::sparse
