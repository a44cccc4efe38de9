// SPDX-License-Identifier: Apache-2.0
//
// Multiply-add instructions on registers alone, as many as the core can start: an upper bound for
// the arithmetic of a matrix product.
//
// Each loop has enough independent sums to hide the latency of the instruction. Operations: a
// multiplication and an addition count as two, also inside dot products. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::device::cpu {

struct ProductLoop {
  // Returns a value that depends on every sum, so that the compiler removes nothing.
  float (*run)(std::size_t iterations) = nullptr;
  double ops_per_iteration = 0;
};

// Loops with instructions that every vector unit has: f32, fused or not; 8-bit values in 16-bit
// lanes.
ProductLoop f32_product_loop();
ProductLoop int16_product_loop();

// Loops with dot product instructions: of four signed or unsigned bytes, or of two bfloat16 values.
// Each function returns all loops that this processor can run, the fastest first.
std::vector<ProductLoop> int8_dot_product_loops();
std::vector<ProductLoop> bf16_dot_product_loops();

}  // namespace tandem::device::cpu
