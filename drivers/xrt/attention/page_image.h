// SPDX-License-Identifier: Apache-2.0
//
// Converts between a page as the contract moves it (AttentionUnit::export_page) and the kernel's
// blocks.
//
// Image: [num_layers, 2 (k, v), kv_heads, page_tokens, head_dim] of kv_dtype, then for i8 the
// scales [num_layers, 2, kv_heads, page_tokens] f32. Blocks of one head of one kernel page: [2,
// num_layers] (abi.h). Rows of a block beyond the page's tokens, and values beyond head_dim, become
// zero. Pure. Threads: any.
#pragma once

#include <cstddef>
#include <span>

#include "xrt/attention/kernel_layout.h"

namespace tandem::device::xrt_card {

// One head of one kernel page: `part` of the page, `head` of the model.
struct ImagePlace {
  std::uint32_t part = 0;
  std::uint32_t head = 0;
};

void blocks_to_image(const KernelLayout& layout, ImagePlace place,
                     std::span<const std::byte> blocks, std::span<std::byte> image);
void image_to_blocks(const KernelLayout& layout, ImagePlace place, std::span<const std::byte> image,
                     std::span<std::byte> blocks);

}  // namespace tandem::device::xrt_card
