// SPDX-License-Identifier: Apache-2.0
//
// Page images against a layout computed by hand, and round trips for many geometries.
#include "opencl/page_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace tandem::opencl {
namespace {

using device::AttentionGeometry;

std::vector<std::byte> random_bytes(std::size_t count) {
  std::mt19937 random(11);
  std::vector<std::byte> bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

TEST(PageImage, TransposesKAndPadsRowsOfV) {
  const AttentionGeometry geometry = {.num_layers = 1,
                                      .q_heads = 1,
                                      .kv_heads = 1,
                                      .head_dim = 3,
                                      .page_tokens = 2,
                                      .kv_dtype = DType::kF16};
  const PageLayout layout = page_layout(geometry, {.local_size = 1, .vector_width = 4});
  ASSERT_EQ(layout.head_stride, 4);
  ASSERT_EQ(layout.v_at_bytes, 64u);
  const std::uint16_t image[] = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  std::vector<std::byte> page(layout.page_bytes);
  page_from_image(geometry, layout, 0, std::as_bytes(std::span(image)), page);
  const std::uint16_t k[] = {1, 4, 2, 5, 3, 6}, v[] = {11, 12, 13, 0, 14, 15, 16, 0};
  EXPECT_EQ(std::memcmp(page.data(), k, sizeof(k)), 0);
  EXPECT_EQ(std::memcmp(page.data() + 64, v, sizeof(v)), 0);
}

TEST(PageImage, ComesBackTheSame) {
  for (const DType dtype : {DType::kF16, DType::kI8}) {
    for (const int head_dim : {1, 7, 16, 24, 100, 256}) {
      for (const int width : {1, 4, 16}) {
        const AttentionGeometry geometry = {.num_layers = 3,
                                            .q_heads = 4,
                                            .kv_heads = 2,
                                            .head_dim = head_dim,
                                            .page_tokens = 8,
                                            .kv_dtype = dtype};
        const PageLayout layout = page_layout(geometry, {.local_size = 1, .vector_width = width});
        const auto image = random_bytes(device::page_image_bytes(geometry));
        std::vector<std::byte> back(image.size()), page(layout.page_bytes);
        for (int layer = 0; layer < geometry.num_layers; ++layer) {
          page_from_image(geometry, layout, layer, image, page);
          image_from_page(geometry, layout, layer, page, back);
        }
        EXPECT_EQ(back, image) << "head_dim " << head_dim << ", width " << width;
      }
    }
  }
}

}  // namespace
}  // namespace tandem::opencl
