// SPDX-License-Identifier: Apache-2.0
//
// pack_f8_panel(): packs blocks of pairs through a buffer that stays in the first cache, as for
// bf16.
#include "cpu/kernels/float_products/f8_panel.h"

#include <cstring>

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kF8BlockPairs = 64;  // two lines of a row

void pack_codes(const F8Rows& rows, std::size_t width, std::byte* panel) {
  const std::size_t pairs = (rows.in_features + 1) / 2;
  std::uint16_t block[kBf16PanelOutputs][kF8BlockPairs] = {};
  for (std::size_t first = 0; first < pairs; first += kF8BlockPairs) {
    const std::size_t bytes = std::min(sizeof block[0], rows.in_features - first * 2);
    const std::size_t count = std::min(kF8BlockPairs, pairs - first);
    for (std::size_t o = 0; o < rows.outputs; ++o) {
      block[o][count - 1] = 0;  // of an odd input, half a pair
      std::memcpy(block[o], rows.data + o * rows.in_features + first * 2, bytes);
    }
    std::byte* to = panel + first * width * 2;
    for (std::size_t pair = 0; pair < count; ++pair, to += width * 2) {
      std::uint16_t line[kBf16PanelOutputs];
      for (std::size_t o = 0; o < width; ++o) line[o] = block[o][pair];
      std::memcpy(to, line, width * 2);
    }
  }
}

}  // namespace

void pack_f8_panel(const F8Rows& rows, std::byte* panel) {
  const std::size_t width = bf16_panel_width(rows.outputs);
  pack_codes(rows, width, panel);
  const auto columns = static_cast<std::int64_t>(rows.in_features);
  const auto count = static_cast<std::size_t>(rows.scales ? rows.scales.per_row(columns) : 1);
  auto* to = reinterpret_cast<float*>(panel + f8_codes_bytes(width, rows.in_features));
  std::memset(to, 0, count * width * sizeof(float));
  for (std::size_t o = 0; o < rows.outputs; ++o) {
    const auto output = static_cast<std::int64_t>(rows.first_output + o);
    const float* from = rows.scales ? rows.scales.of_row(output, columns) : nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      to[i * width + o] = (from != nullptr ? from[i] : 1.0f) * kF8Unit;
    }
  }
}

}  // namespace tandem::device::cpu
