// SPDX-License-Identifier: Apache-2.0
//
// pack_bf16_panel(): blocks of pairs go through a buffer in the first-level cache, because rows a
// power of two apart would evict each other's lines.
#include "cpu/kernels/float_products/bf16_panel.h"

#include <cstring>

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kBlockPairs = 64;  // four lines of a row, one after another

using Block = std::uint32_t[kBf16PanelOutputs][kBlockPairs];

template <std::size_t kWidth>
void write_block(const Block& block, std::size_t pairs, std::byte* to) {
  for (std::size_t pair = 0; pair < pairs; ++pair, to += kWidth * 4) {
    std::uint32_t line[kWidth];
    for (std::size_t o = 0; o < kWidth; ++o) line[o] = block[o][pair];
    std::memcpy(to, line, sizeof line);
  }
}

}  // namespace

void pack_bf16_panel(const std::byte* rows, std::size_t outputs, std::size_t in_features,
                     std::byte* panel) {
  const std::size_t row_bytes = in_features * 2, width = bf16_panel_width(outputs);
  const std::size_t pairs = (in_features + 1) / 2;
  const auto write = width == 64   ? write_block<64>
                     : width == 48 ? write_block<48>
                     : width == 32 ? write_block<32>
                                   : write_block<16>;
  Block block = {};
  for (std::size_t first = 0; first < pairs; first += kBlockPairs) {
    const std::size_t bytes = std::min(sizeof block[0], row_bytes - first * 4);
    const std::size_t count = std::min(kBlockPairs, pairs - first);
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::byte* from = rows + o * row_bytes + first * 4;
      if (bytes == sizeof block[0]) {
        std::memcpy(block[o], from, sizeof block[0]);
      } else {
        block[o][count - 1] = 0;
        std::memcpy(block[o], from, bytes);
      }
    }
    write(block, count, panel + first * width * 4);
  }
}

}  // namespace tandem::device::cpu
