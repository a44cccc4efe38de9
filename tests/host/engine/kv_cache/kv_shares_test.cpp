// SPDX-License-Identifier: Apache-2.0
//
// Shares that are given instead of measured: who gets which part of the sequences, or of the pages.
#include <gmock/gmock.h>

#include "engine/kv_cache/kv_cache.h"

namespace tandem::engine {
namespace {

constexpr int kPageTokens = 4;

TEST(KvShares, DealsSequencesAndPagesByShares) {
  KvCache whole(kPageTokens, Placement::kSequences, false);
  for (const double share : {0.5, 0.3, 0.2}) whole.add_unit(100, 1e9, share);
  std::vector<PageTable> tables(20);
  for (PageTable& table : tables) ASSERT_TRUE(whole.extend(table, 2 * kPageTokens));
  EXPECT_EQ(whole.unit_pages(0).used, 20u);
  EXPECT_EQ(whole.unit_pages(1).used, 12u);
  EXPECT_EQ(whole.unit_pages(2).used, 8u);
  for (PageTable& table : tables) whole.release(table);

  KvCache dealt(kPageTokens, Placement::kPages, false);
  dealt.add_unit(30, 1e12, 0.5);  // neither bandwidth nor how full it is counts
  dealt.add_unit(1000, 1e9, 0.3);
  dealt.add_unit(1000, 1e9, 0.2);
  PageTable table;
  ASSERT_TRUE(dealt.extend(table, 50 * kPageTokens));
  EXPECT_THAT(table.held, testing::ElementsAre(25u, 15u, 10u));
  ASSERT_TRUE(dealt.extend(table, 100 * kPageTokens)) << "a full unit's share goes to the others";
  EXPECT_THAT(table.held, testing::ElementsAre(30u, 42u, 28u));
  dealt.release(table);
}

}  // namespace
}  // namespace tandem::engine
