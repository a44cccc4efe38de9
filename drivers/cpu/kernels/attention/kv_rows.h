// SPDX-License-Identifier: Apache-2.0
//
// Conversion of one row of K or V (one token and head) to and from the types that KV pages store.
//
// Rounding is to nearest even. The scale of kI8 is max|x| / 127. The scale of kF8E4M3 is the
// smallest power of two in 2^-126 .. 2^119 for which |x| / scale is at most 448, so scaling is
// exact. Values beyond 448 * 2^119 become 448 * 2^119. A row with NaN or infinity gets scale NaN
// and zeros. Other types have scale 1. Threads: pure functions.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

// type: kF32, kF16, kBF16, kI8 or kF8E4M3. Returns the scale.
float narrow_kv(DType type, const float* from, std::size_t count, void* to);
void widen_kv(DType type, const void* from, float scale, std::size_t count, float* to);

}  // namespace tandem::device::cpu
