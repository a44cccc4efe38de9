// SPDX-License-Identifier: Apache-2.0
//
// The loops of the update rules for AVX-512, AVX2, NEON and the baseline, chosen at run time.
//
// One pass: every value is read and written once. If `stream` is set and a copy begins at a
// multiple of 64 bytes, it is written past the caches, which suits ranges larger than the caches.
// Numerics: rules.h; the bits depend neither on the instruction set nor on the division of a range.
// Threads: any, on different values; no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "training/optimizer/rules.h"

namespace tandem::training {

// [count] each. Arrays that a rule does not use, and an unwanted copy, are null.
struct KernelValues {
  float* weights = nullptr;
  const float* gradient = nullptr;
  float* first = nullptr;   // momentum, exp_avg
  float* second = nullptr;  // exp_avg_sq
  std::uint16_t* copy = nullptr;
  bool stream = false;
};

void apply_sgd(const SgdFactors& factors, const KernelValues& values, std::size_t count);
void apply_adam(const AdamFactors& factors, const KernelValues& values, std::size_t count);
void apply_row_adam(const RowAdamFactors& factors, const KernelValues& values, std::size_t count);

// Replaces the gradient by the direction of an optimiser step: `weights` and `gradient` are the
// same array.
void apply_adam_direction(const DirectionFactors& factors, const KernelValues& values,
                          std::size_t count);
void apply_sgd_direction(const SgdFactors& factors, const KernelValues& values, std::size_t count);

// One row of `count` values. `first`: the row's accumulator.
void apply_rowwise_adagrad(const AdagradFactors& factors, const KernelValues& values,
                           std::size_t count);

}  // namespace tandem::training
