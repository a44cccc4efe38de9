// SPDX-License-Identifier: Apache-2.0
//
// The order of e4m3 weights for products, the same for every instruction set.
//
// A panel has the same outputs as one of bf16 (bf16_panel.h), with pairs of bytes: [in_features /
// 2][outputs][2 inputs]. Its scales follow at the next multiple of 64 bytes: [scales of an
// output][outputs] f32. They are multiplied by kF8Unit: the kernels read a code as an f16 with the
// same bits, which is smaller by 2^8. Padding is zero. Packing reads every byte once and writes as
// many in one stream. Threads: any; pure functions.
#pragma once

#include <cstddef>

#include "cpu/kernels/float_products/bf16_panel.h"
#include "tensor/weight_scales.h"

namespace tandem::device::cpu {

inline constexpr float kF8Unit = 256.0f;

// Bytes of the codes of a panel of `width` outputs; its scales begin there.
constexpr std::size_t f8_codes_bytes(std::size_t width, std::size_t in_features) {
  return (width * ((in_features + 1) / 2) * 2 + 63) / 64 * 64;
}

// Bytes of a whole panel. `num_scales`: the number of scales of one output.
constexpr std::size_t f8_panel_bytes(std::size_t outputs, std::size_t in_features,
                                     std::size_t num_scales) {
  const std::size_t width = bf16_panel_width(outputs);
  return f8_codes_bytes(width, in_features) + width * num_scales * sizeof(float);
}

struct F8Rows {
  const std::byte* data = nullptr;  // [outputs, in_features] of the panel, at any address
  std::size_t outputs = 0;          // 1..64
  std::size_t in_features = 0;
  std::size_t first_output = 0;  // index of the panel's first output in the matrix
  WeightScales scales;           // scales of the whole matrix; none: all scales are 1
};

// panel: aligned to 64 bytes.
void pack_f8_panel(const F8Rows& rows, std::byte* panel);

}  // namespace tandem::device::cpu
