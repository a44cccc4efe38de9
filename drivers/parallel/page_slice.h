// SPDX-License-Identifier: Apache-2.0
//
// PageSlice: some layers and heads of a page image (AttentionUnit::export_page).
//
// An image is [layers, 2, kv_heads, page_tokens, head_dim] of the KV type, then the scales, if any:
// [layers, 2, kv_heads, page_tokens] f32. A slice is an image of its own geometry. Threads: pure
// functions. Cost: one copy per layer, K or V.
#pragma once

#include <cstddef>
#include <span>

#include "device/attention_unit.h"

namespace tandem::device::parallel {

struct PageSlice {
  int first_layer = 0, num_layers = 0;
  int first_head = 0, num_heads = 0;  // the slice's KV heads: [first_head, first_head + num_heads)
};

// The geometry of a slice's image. It has as many query heads per KV head as `whole`.
AttentionGeometry slice_geometry(const AttentionGeometry& whole, const PageSlice& slice);

// Copies the slice out of a page's image, or back into it.
void take_slice(const AttentionGeometry& whole, const PageSlice& slice,
                std::span<const std::byte> image, std::span<std::byte> part);
void put_slice(const AttentionGeometry& whole, const PageSlice& slice,
               std::span<const std::byte> part, std::span<std::byte> image);

}  // namespace tandem::device::parallel
