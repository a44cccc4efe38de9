// SPDX-License-Identifier: Apache-2.0
//
// Visits the pieces that a slice and its page have in common.
#include "parallel/page_slice.h"

#include <cstring>

#include "common/error.h"

namespace tandem::device::parallel {
namespace {

// visit(offset in the image, offset in the part, bytes).
template <typename Visit>
void for_pieces(const AttentionGeometry& whole, const PageSlice& slice, const Visit& visit) {
  const auto tokens = static_cast<std::size_t>(whole.page_tokens);
  const auto heads = static_cast<std::size_t>(whole.kv_heads);
  const auto slice_heads = static_cast<std::size_t>(slice.num_heads);
  std::size_t image_at = 0, part_at = 0;
  const auto section = [&](std::size_t head_bytes) {
    for (int layer = 0; layer < whole.num_layers; ++layer) {
      for (int kv = 0; kv < 2; ++kv, image_at += heads * head_bytes) {
        if (layer < slice.first_layer || layer >= slice.first_layer + slice.num_layers) continue;
        visit(image_at + static_cast<std::size_t>(slice.first_head) * head_bytes, part_at,
              slice_heads * head_bytes);
        part_at += slice_heads * head_bytes;
      }
    }
  };
  section(tokens * dtype_row_bytes(whole.kv_dtype, static_cast<std::size_t>(whole.head_dim)));
  if (kv_has_scales(whole.kv_dtype)) section(tokens * sizeof(float));
}

}  // namespace

AttentionGeometry slice_geometry(const AttentionGeometry& whole, const PageSlice& slice) {
  AttentionGeometry part = whole;
  part.num_layers = slice.num_layers;
  part.kv_heads = slice.num_heads;
  part.q_heads = whole.q_heads / whole.kv_heads * slice.num_heads;
  return part;
}

void take_slice(const AttentionGeometry& whole, const PageSlice& slice,
                std::span<const std::byte> image, std::span<std::byte> part) {
  TANDEM_CHECK_OP(image.size(), ==, page_image_bytes(whole));
  TANDEM_CHECK_OP(part.size(), ==, page_image_bytes(slice_geometry(whole, slice)));
  for_pieces(whole, slice, [&](std::size_t from, std::size_t to, std::size_t bytes) {
    std::memcpy(part.data() + to, image.data() + from, bytes);
  });
}

void put_slice(const AttentionGeometry& whole, const PageSlice& slice,
               std::span<const std::byte> part, std::span<std::byte> image) {
  TANDEM_CHECK_OP(image.size(), ==, page_image_bytes(whole));
  TANDEM_CHECK_OP(part.size(), ==, page_image_bytes(slice_geometry(whole, slice)));
  for_pieces(whole, slice, [&](std::size_t to, std::size_t from, std::size_t bytes) {
    std::memcpy(image.data() + to, part.data() + from, bytes);
  });
}

}  // namespace tandem::device::parallel
