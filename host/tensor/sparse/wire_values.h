// SPDX-License-Identifier: Apache-2.0
//
// Conversion of values between their accumulation type and the type in which they are sent.
//
// Rounding is to nearest even; a NaN stays a quiet NaN of its sign. On every instruction set the
// bits are those of the scalar conversions in tensor/dtype.h. Wire memory may have any alignment.
// Threads: any. Cost: one pass at memory speed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace tandem::sparse {

// True if `wire` can carry values of `type` (f32, f64 or u64): the type itself, f16 or bf16 for
// f32.
bool can_carry(DType type, DType wire);

// from: [num_values] of type; to: [num_values] of wire.
void store_wire(const std::byte* from, std::size_t num_values, DType type, DType wire,
                std::byte* to);

// The inverse. from: [num_values] of wire; to: [num_values] of type.
void load_wire(const std::byte* from, std::size_t num_values, DType type, DType wire,
               std::byte* to);

// Rounds to what `wire` (f16 or bf16) can carry, in place.
void round_values(float* values, std::size_t num_values, DType wire);

}  // namespace tandem::sparse
