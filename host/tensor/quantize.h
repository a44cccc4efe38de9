// SPDX-License-Identifier: Apache-2.0
//
// Converts rows of f32 to any type of weight.
//
// Scales (and mins) minimise the squared error after dequantize_row(): scale_search.h,
// quantize_k.cpp. Blocks are independent, so threads may share a row at borders of blocks with the
// same result. Float types are rounded to nearest even. Numerics: zeros stay zeros. A block's scale
// above the range of f16 is clipped to 65504, which clips its values; below that range the values
// become 0.
// Cost: about 20 passes over a block for the types of 4 to 6 bits, one for q8_0.
// Errors: Error on a value that is not finite (the row's bytes are then undefined), and on types
// that are not types of weights.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace tandem {

// The types of blocks that quantize_row() makes: q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, q4_k, q5_k,
// q6_k.
std::span<const DType> quantizable_types();
bool can_quantize(DType dtype);

// `to`: dtype_row_bytes(dtype, num_values) bytes, at any address; `num_values` a multiple of the
// block. f32, f16, bf16 and the types of can_quantize().
void quantize_row(DType dtype, const float* from, std::byte* to, std::size_t num_values);

}  // namespace tandem
