// SPDX-License-Identifier: Apache-2.0
//
// Layout conversion of one page: K is transposed, rows of V are padded, scales are copied.
//
// The image: [num_layers, 2 (k, v), kv_heads, page_tokens, head_dim], then for kI8 the scales
// [num_layers, 2, kv_heads, page_tokens] f32.
#include "opencl/page_image.h"

#include <cstdint>
#include <cstring>

namespace tandem::opencl {
namespace {

// Offsets in bytes; one walk serves both directions.
class PageWalk {
 public:
  PageWalk(const device::AttentionGeometry& g, const PageLayout& layout, int layer)
      : g_(g), layout_(layout), layer_(layer) {}

  std::size_t image_row(int which, int head, int token) const {
    return (row_index(which, head, token)) * g_.head_dim * layout_.element_bytes;
  }
  std::size_t image_scales() const {
    return layer_rows() * g_.num_layers * g_.head_dim * layout_.element_bytes +
           layer_rows() * layer_ * sizeof(float);
  }
  std::size_t scale_bytes() const {
    return g_.kv_dtype == DType::kI8 ? layer_rows() * sizeof(float) : 0;
  }
  std::size_t page_k(int head, int token, int d) const {
    return ((static_cast<std::size_t>(head) * g_.head_dim + d) * g_.page_tokens + token) *
           layout_.element_bytes;
  }
  std::size_t page_v(int head, int token) const {
    return layout_.v_at_bytes + (static_cast<std::size_t>(head) * g_.page_tokens + token) *
                                    layout_.head_stride * layout_.element_bytes;
  }

 private:
  std::size_t layer_rows() const {
    return static_cast<std::size_t>(2) * g_.kv_heads * g_.page_tokens;
  }
  std::size_t row_index(int which, int head, int token) const {
    return layer_ * layer_rows() +
           (static_cast<std::size_t>(which) * g_.kv_heads + head) * g_.page_tokens + token;
  }

  const device::AttentionGeometry& g_;
  const PageLayout& layout_;
  int layer_;
};

template <typename Visit>
void for_each_row(const device::AttentionGeometry& g, Visit visit) {
  for (int head = 0; head < g.kv_heads; ++head) {
    for (int token = 0; token < g.page_tokens; ++token) visit(head, token);
  }
}

}  // namespace

void image_from_page(const device::AttentionGeometry& g, const PageLayout& layout, int layer,
                     std::span<const std::byte> page, std::span<std::byte> image) {
  const PageWalk walk(g, layout, layer);
  const std::size_t row_bytes = g.head_dim * layout.element_bytes;
  for_each_row(g, [&](int head, int token) {
    std::byte* k = image.data() + walk.image_row(0, head, token);
    for (int d = 0; d < g.head_dim; ++d) {
      std::memcpy(k + d * layout.element_bytes, page.data() + walk.page_k(head, token, d),
                  layout.element_bytes);
    }
    std::memcpy(image.data() + walk.image_row(1, head, token),
                page.data() + walk.page_v(head, token), row_bytes);
  });
  if (walk.scale_bytes() == 0) return;
  std::memcpy(image.data() + walk.image_scales(), page.data() + layout.scales_at_bytes,
              walk.scale_bytes());
}

void page_from_image(const device::AttentionGeometry& g, const PageLayout& layout, int layer,
                     std::span<const std::byte> image, std::span<std::byte> page) {
  const PageWalk walk(g, layout, layer);
  const std::size_t row_bytes = g.head_dim * layout.element_bytes;
  std::memset(page.data(), 0, page.size());
  for_each_row(g, [&](int head, int token) {
    const std::byte* k = image.data() + walk.image_row(0, head, token);
    for (int d = 0; d < g.head_dim; ++d) {
      std::memcpy(page.data() + walk.page_k(head, token, d), k + d * layout.element_bytes,
                  layout.element_bytes);
    }
    std::memcpy(page.data() + walk.page_v(head, token),
                image.data() + walk.image_row(1, head, token), row_bytes);
  });
  if (walk.scale_bytes() == 0) return;
  std::memcpy(page.data() + layout.scales_at_bytes, image.data() + walk.image_scales(),
              walk.scale_bytes());
}

}  // namespace tandem::opencl
