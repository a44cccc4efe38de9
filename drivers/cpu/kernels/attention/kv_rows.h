// SPDX-License-Identifier: Apache-2.0
//
// One row of K or V (one token and head) to and from the types that KV pages store.
//
// Rounding is to nearest even. kI8 has the scale max|x| / 127; kF8E4M3 the least power of two, in
// 2^-126 .. 2^119, that keeps |x| within 448 of it, so that scaling loses nothing (beyond 448 *
// 2^119 values are taken as that); both give a row with NaN or infinity the scale NaN and zeros.
// Other types have none: their scale is 1. Threads: pure functions.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

// type: kF32, kF16, kBF16, kI8 or kF8E4M3. Returns the scale.
float narrow_kv(DType type, const float* from, std::size_t count, void* to);
void widen_kv(DType type, const void* from, float scale, std::size_t count, float* to);

}  // namespace tandem::device::cpu
