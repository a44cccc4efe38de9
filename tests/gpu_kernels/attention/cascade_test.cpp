// SPDX-License-Identifier: Apache-2.0
//
// Shared prefixes: the groups of a plan; and attention by levels with a merge gives the results of
// attention at once.
#include "attention/cascade_plan.h"

#include <algorithm>

#include "attention/merge.h"
#include "gpu_kernels/attention/decode_batch.h"

namespace tandem::gpu_kernels {
namespace {

// Sequences of one row each over these pages, all of their tokens but `behind`.
CascadePlan plan_of(const std::vector<std::vector<std::uint32_t>>& lists, int min_tokens,
                    int behind = 3) {
  std::vector<DecodeGroup> groups;
  std::vector<std::int32_t> rows;
  std::vector<std::uint32_t> pages;
  for (const auto& list : lists) {
    const auto row = static_cast<std::int32_t>(rows.size());
    groups.push_back({row, 1, static_cast<std::int32_t>(pages.size()), 0,
                      static_cast<std::int32_t>(list.size()) * 16 - behind});
    rows.push_back(row);
    pages.insert(pages.end(), list.begin(), list.end());
  }
  CascadePlan plan;
  plan_cascade({16, min_tokens, 100}, groups, rows, pages, plan);
  return plan;
}

TEST(CascadePlan, FindsLeadingPagesThatSequencesShare) {
  const CascadePlan plan = plan_of({{1, 2, 3, 9}, {7, 8}, {1, 2, 3, 10}, {1, 2, 3, 11, 12}}, 32);
  ASSERT_EQ(plan.shared.size(), 1u);
  const DecodeGroup& shared = plan.shared[0];
  EXPECT_EQ(shared.num_rows, 3);
  EXPECT_EQ(shared.attend_begin, 0);
  EXPECT_EQ(shared.num_attend, 48);
  EXPECT_EQ(shared.out_offset, 100);
  std::vector<std::int32_t> rows = plan.level_rows[1];
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::int32_t>{0, 2, 3}));
  ASSERT_EQ(plan.own.size(), 4u);
  for (const DecodeGroup& own : plan.own) {
    EXPECT_EQ(own.attend_begin, own.row_begin == 1 ? 0 : 48);
    EXPECT_EQ(own.out_offset, 0);
  }
}

TEST(CascadePlan, SharesByLevels) {
  const CascadePlan plan =
      plan_of({{1, 2, 3, 4}, {1, 2, 3, 5}, {1, 2, 6, 7}, {1, 2, 6, 8}, {1, 9}}, 16);
  ASSERT_EQ(plan.shared.size(), 4u);  // page 1; page 2; pages 3 and 6
  EXPECT_EQ(plan.level_rows[1].size(), 5u);
  EXPECT_EQ(plan.level_rows[2].size(), 4u);
  EXPECT_EQ(plan.level_rows[3].size(), 4u);
}

TEST(CascadePlan, SharesNothingThatSparesLittle) {
  EXPECT_TRUE(plan_of({{1, 2, 9}, {1, 2, 10}}, 64).shared.empty());
  // what the first level leaves, the next takes together with its own
  const CascadePlan plan = plan_of({{1, 2, 3, 4, 9}, {1, 2, 3, 4, 8}, {1, 7}}, 40);
  ASSERT_EQ(plan.shared.size(), 1u);
  EXPECT_EQ(plan.shared[0].attend_begin, 0);
  EXPECT_EQ(plan.shared[0].num_attend, 64);
  EXPECT_EQ(plan.shared[0].num_rows, 2);
}

TEST(CascadePlan, SharesOnlyPagesThatAreSeenWhole) {
  const CascadePlan plan = plan_of({{1, 2}, {1, 2}}, 1);
  ASSERT_EQ(plan.shared.size(), 1u);
  EXPECT_EQ(plan.shared[0].num_attend, 16);
  EXPECT_EQ(plan_of({{1, 2}, {1, 2}}, 1, 0).shared[0].num_attend, 32);
}

TEST_P(DecodeTest, LevelsMergeToWhatAttendingAtOnceGives) {
  DecodeSetup setup = usual();
  setup.type = KvType::kI8;
  setup.group = 3;
  setup.num_processors = 3;
  DecodeBatch batch(setup, {{1, 0, 200}, {2, 0, 150}, {1, 0, 160}, {1, 9, 90}, {1, 0, 33}});
  const auto share = [&](std::size_t from, std::size_t to, int pages) {
    std::copy_n(batch.pages().begin() + batch.groups()[from].page_begin, pages,
                batch.pages().begin() + batch.groups()[to].page_begin);
  };
  share(0, 1, 7);
  share(0, 2, 4);
  share(0, 4, 1);
  const int rows = batch.num_rows(), heads = batch.q_heads();
  CascadePlan plan;
  plan_cascade({setup.page_tokens, 32, rows}, batch.groups(), batch.rows(), batch.pages(), plan);
  EXPECT_EQ(plan.shared.size(), 3u);  // 1 page of four sequences, 3 more of three, 3 of two
  const int max_rows = static_cast<int>(plan.rows.size());
  batch.run(make_decode_bucket(batch.shape(), 8, max_rows, 2), plan.own, plan.rows,
            kMaxCascadeLevels);
  std::vector<float> o = batch.o, lse = batch.lse;
  batch.run(make_decode_bucket(batch.shape(), 8, max_rows, max_rows), plan.shared, plan.rows,
            kMaxCascadeLevels);
  const std::size_t level_o = batch.q_index(rows, 0, 0);
  const auto level_lse = static_cast<std::size_t>(rows * heads);
  std::copy(batch.o.begin() + static_cast<std::ptrdiff_t>(level_o), batch.o.end(),
            o.begin() + static_cast<std::ptrdiff_t>(level_o));
  std::copy(batch.lse.begin() + static_cast<std::ptrdiff_t>(level_lse), batch.lse.end(),
            lse.begin() + static_cast<std::ptrdiff_t>(level_lse));
  DeviceArray<float> device_o(o), device_lse(lse);
  std::vector<MergeCover> covers;
  std::size_t listed = 0;
  for (std::size_t level = 0; level < kMaxCascadeLevels; ++level) {
    covers.push_back({{device_o.data() + level * level_o, device_lse.data() + level * level_lse},
                      plan.level_rows[level]});
    listed += plan.level_rows[level].size();
  }
  std::vector<std::byte> coverage(merge_coverage_bytes(rows, listed));
  ASSERT_TRUE(plan_merge(rows, covers, coverage));
  DeviceArray<std::byte> device_coverage(coverage);
  DeviceArray<float> merged(level_o), merged_lse(level_lse);
  ASSERT_EQ(merge_partials({rows, heads, setup.head_dim, device_coverage.data(), merged.data(),
                            merged_lse.data()},
                           nullptr),
            cudaSuccess);
  batch.o = merged.download();
  batch.lse = merged_lse.download();
  batch.expect_rows(2e-6);
}

}  // namespace
}  // namespace tandem::gpu_kernels
