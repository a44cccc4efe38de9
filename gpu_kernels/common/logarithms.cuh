// SPDX-License-Identifier: Apache-2.0
//
// Factors between natural logarithms and logarithms of base 2.
//
// Exponentials of attention are of base 2, which is one instruction. So scores are multiplied by
// kLog2E before, and the logarithms of sums by kLn2 after. Threads: any; pure functions.
#pragma once

namespace tandem::gpu_kernels {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;

}  // namespace tandem::gpu_kernels
