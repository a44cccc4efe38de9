// SPDX-License-Identifier: Apache-2.0
//
// f16 rows are stored in order. i8: value d of a row is in u16 lane d % 32 of word d / 64, the low
// byte for even d / 32; the scale of token t is u16 lanes t (low half) and 16 + t of the first
// word.
#include "xrt/attention/page_image.h"

#include <cstring>

namespace tandem::device::xrt_card {
namespace {

namespace kernel = attention_decode;

constexpr std::size_t kRowChunk = kernel::kChunk;

// The byte of value d in an i8 row.
std::size_t i8_byte(std::size_t d) {
  return d / 64 * kernel::kWordBytes + d % kRowChunk * 2 + d / kRowChunk % 2;
}

std::size_t value_bytes(const KernelLayout& layout) {
  return layout.kv_type == kernel::kI8 ? 1 : 2;
}

// Number of image rows before (layer, k or v, head, first token of the part).
std::size_t first_row(const KernelLayout& layout, ImagePlace place, std::uint32_t layer,
                      std::uint32_t kv) {
  const std::size_t tokens = std::size_t{layout.page_tokens} * layout.page_parts;
  return ((std::size_t{layer} * 2 + kv) * layout.kv_heads + place.head) * tokens +
         std::size_t{place.part} * layout.page_tokens;
}

std::size_t scales_at(const KernelLayout& layout) {
  return std::size_t{layout.num_layers} * 2 * layout.kv_heads * layout.page_tokens *
         layout.page_parts * layout.head_dim;
}

// Calls visit(block, row of the image, token) for every token of the place's part.
template <typename Block, typename Visit>
void for_each_row(const KernelLayout& layout, ImagePlace place, Block* blocks, const Visit& visit) {
  for (std::uint32_t kv = 0; kv < 2; ++kv) {
    for (std::uint32_t layer = 0; layer < layout.num_layers; ++layer) {
      Block* block = blocks + (kv * layout.num_layers + layer) * layout.block_bytes();
      const std::size_t row = first_row(layout, place, layer, kv);
      for (std::uint32_t t = 0; t < layout.page_tokens; ++t) visit(block, row + t, t);
    }
  }
}

// Where the row of token t begins in its block.
std::size_t row_at(const KernelLayout& layout, std::uint32_t t) {
  const std::size_t row_bytes =
      std::size_t{kernel::page_row_words(layout.kv_type, layout.chunks)} * kernel::kWordBytes;
  return (layout.kv_type == kernel::kI8 ? kernel::kWordBytes : 0) + t * row_bytes;
}

}  // namespace

void blocks_to_image(const KernelLayout& layout, ImagePlace place,
                     std::span<const std::byte> blocks, std::span<std::byte> image) {
  const std::size_t row_bytes = layout.head_dim * value_bytes(layout);
  for_each_row(layout, place, blocks.data(),
               [&](const std::byte* block, std::size_t row, std::uint32_t t) {
                 const std::byte* from = block + row_at(layout, t);
                 std::byte* to = image.data() + row * row_bytes;
                 if (layout.kv_type != kernel::kI8) {
                   std::memcpy(to, from, row_bytes);
                   return;
                 }
                 for (std::size_t d = 0; d < layout.head_dim; ++d) to[d] = from[i8_byte(d)];
                 std::byte* scale = image.data() + scales_at(layout) + row * sizeof(float);
                 std::memcpy(scale, block + t * 2, 2);
                 std::memcpy(scale + 2, block + (kernel::kPageRows + t) * 2, 2);
               });
}

void image_to_blocks(const KernelLayout& layout, ImagePlace place, std::span<const std::byte> image,
                     std::span<std::byte> blocks) {
  std::memset(blocks.data(), 0, blocks.size());
  const std::size_t row_bytes = layout.head_dim * value_bytes(layout);
  for_each_row(layout, place, blocks.data(),
               [&](std::byte* block, std::size_t row, std::uint32_t t) {
                 std::byte* to = block + row_at(layout, t);
                 const std::byte* from = image.data() + row * row_bytes;
                 if (layout.kv_type != kernel::kI8) {
                   std::memcpy(to, from, row_bytes);
                   return;
                 }
                 for (std::size_t d = 0; d < layout.head_dim; ++d) to[i8_byte(d)] = from[d];
                 const std::byte* scale = image.data() + scales_at(layout) + row * sizeof(float);
                 std::memcpy(block + t * 2, scale, 2);
                 std::memcpy(block + (kernel::kPageRows + t) * 2, scale + 2, 2);
               });
}

}  // namespace tandem::device::xrt_card
