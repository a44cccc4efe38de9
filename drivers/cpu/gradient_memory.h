// SPDX-License-Identifier: Apache-2.0
//
// GradientMemory for host memory, with simple loops on one thread, and helper functions for the
// selection unit. Deadlines have no effect, because no call waits. Threads: one at a time.
#pragma once

#include <memory>

#include "device/gradient_memory.h"

namespace tandem::device::cpu {

std::unique_ptr<GradientMemory> make_gradient_memory();

// The value at index `at` of a gradient, as f32.
float value_at(const GradientView& gradient, std::size_t at);

// Adds a value to the moments. If it is not finite, only its place is recorded.
void take(GradientMoments& moments, float value, std::uint64_t place, bool logarithms);

}  // namespace tandem::device::cpu
