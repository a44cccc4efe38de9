// SPDX-License-Identifier: Apache-2.0
//
// The order of bf16 weights for products, the same for every instruction set, and the packing into
// it.
//
// A panel is 64 outputs: [in_features / 2][64 outputs][2 inputs]. Dot products of pairs take it a
// vector of outputs at a time; oneDNN calls it BA16a64b2a, if inputs are a multiple of 32 and
// outputs of 64. The last panel of a matrix has the remaining outputs, rounded up to 16; an odd
// input is half of the last pair. Padding is zero. Packing reads every byte once, some cache lines
// of a row at a time, and writes as many in one stream. Threads: any; pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tandem::device::cpu {

inline constexpr std::size_t kBf16PanelOutputs = 64;
inline constexpr std::size_t kBf16PanelStep = 16;

// The width of a panel. `outputs`: the number of outputs from the panel's first one to the matrix's
// last one.
constexpr std::size_t bf16_panel_width(std::size_t outputs) {
  return std::min(kBf16PanelOutputs,
                  (outputs + kBf16PanelStep - 1) / kBf16PanelStep * kBf16PanelStep);
}

// The bytes of the panels that hold `outputs` outputs: a whole matrix, or some of its panels.
constexpr std::size_t bf16_panels_bytes(std::size_t outputs, std::size_t in_features) {
  const std::size_t whole = outputs / kBf16PanelOutputs * kBf16PanelOutputs;
  return (whole + bf16_panel_width(outputs - whole)) * ((in_features + 1) / 2) * 4;
}

// rows: [outputs, in_features] bf16 at any address; outputs: 1..64. panel: aligned to 64 bytes.
void pack_bf16_panel(const std::byte* rows, std::size_t outputs, std::size_t in_features,
                     std::byte* panel);

}  // namespace tandem::device::cpu
