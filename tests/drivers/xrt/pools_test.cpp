// SPDX-License-Identifier: Apache-2.0
//
// How many pages fit in the memories that a card's units reach.
#include "xrt/attention/pools.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

constexpr AttentionGeometry kPoolGeometry{1, 2, 1, 32, 16, DType::kF16};

// One unit that has all heads; its pools of keys and values lie in these banks of `bank_bytes`.
std::uint32_t pages(std::uint64_t bank_bytes, int key_bank, int value_bank,
                    std::uint32_t max_pages = 0) {
  const KernelLayout layout(kPoolGeometry);
  ComputeUnitHandle handle;
  handle.key_memory = {key_bank, bank_bytes};
  handle.value_memory = {value_bank, bank_bytes};
  AttentionUnitOptions options;
  options.geometry = kPoolGeometry;
  options.max_pages = max_pages;
  return pages_that_fit(layout, {handle}, {UnitShare{0, layout.kv_heads, 0, 1}}, options);
}

std::uint64_t page_bytes() {
  const KernelLayout layout(kPoolGeometry);
  return layout.pool_bytes(layout.page_parts, layout.kv_heads);  // of keys, or of values
}

TEST(Pools, LeaveASixteenthOfABankToDescriptorsAndResults) {
  EXPECT_EQ(pages(16 * page_bytes(), 0, 1), 15u);
  EXPECT_EQ(pages(32 * page_bytes(), 0, 1), 30u);
  EXPECT_EQ(pages(32 * page_bytes(), 0, 0), 15u) << "keys and values share a bank";
}

TEST(Pools, HaveNoMorePagesThanAreAskedFor) {
  EXPECT_EQ(pages(32 * page_bytes(), 0, 1, 7), 7u);
  EXPECT_THROW(pages(page_bytes(), 0, 1), Error) << "with a sixteenth less no page fits";
}

}  // namespace
}  // namespace tandem::device::xrt_card
