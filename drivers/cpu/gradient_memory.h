// SPDX-License-Identifier: Apache-2.0
//
// Gradients in host memory behind the contract of devices, by plain loops of one thread; and what
// the selection unit shares with it. Deadlines are not looked at: no call waits.
#pragma once

#include <memory>

#include "device/gradient_memory.h"

namespace tandem::device::cpu {

std::unique_ptr<GradientMemory> make_gradient_memory();

// Value `at` of a gradient, as f32.
float value_at(const GradientView& gradient, std::size_t at);

// Adds a value to the moments; one that is not finite is named by its place.
void take(GradientMoments& moments, float value, std::uint64_t place, bool logarithms);

}  // namespace tandem::device::cpu
