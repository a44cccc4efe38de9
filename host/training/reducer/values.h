// SPDX-License-Identifier: Apache-2.0
//
// Loops over the values of a gradient. The caller widens 16-bit values to f32 first.
//
// Threads: any; no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tensor/dtype.h"

namespace tandem::training {

constexpr float kMostF16 = 65504;  // the largest finite value of f16

bool is_16_bit(DType type);
std::size_t bytes_of(DType type);  // size of one value: f32, f16, bf16 or f64

// The index of the first NaN or infinity, if any. type: f32 or f64.
std::optional<std::uint64_t> first_non_finite(const void* values, std::uint64_t count, DType type);

// A NaN becomes 0; an infinity becomes the largest finite magnitude of the values. f32 or f64.
void clip(void* values, std::uint64_t count, DType type);

void fill(void* values, std::uint64_t count, DType type, double value);

// wide: [count] f32. narrow: [count] of f16 or bf16. For f16, narrow() clips to the finite range.
void widen(const void* narrow, std::uint64_t count, DType type, float* wide);
void narrow(const float* wide, std::uint64_t count, DType type, void* narrow);

}  // namespace tandem::training
