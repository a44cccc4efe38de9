// SPDX-License-Identifier: Apache-2.0
//
// plan_attention(): every query row and token belongs to exactly one item, whatever the batch.
#include "cpu/attention_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace tandem::device::cpu {
namespace {

const AttentionGeometry kGeometry = {.num_layers = 1, .q_heads = 8, .kv_heads = 2, .head_dim = 64};

AttentionPlan plan(const std::vector<AttentionSequence>& sequences, int threads) {
  AttentionBatch batch;
  batch.sequences = sequences;
  AttentionPlan result;
  plan_attention(kGeometry, batch, threads, result);
  return result;
}

TEST(AttentionPlan, CoversEveryRowAndTokenOnce) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<AttentionSequence> sequences(1 + random() % 5);
    for (auto& s : sequences) {
      s.num_q = static_cast<int>(random() % (round % 3 == 0 ? 70 : 3));
      s.num_attend = static_cast<int>(random() % (round % 2 == 0 ? 20000 : 300));
      s.attend_begin = round % 4 < 2 ? 0 : static_cast<int>(random() % (s.num_attend + 1));
    }
    const AttentionPlan result = plan(sequences, 1 + round % 9);
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> covered;  // (sequence, head)
    std::size_t partial_rows = 0;
    const AttentionItem* before = nullptr;
    for (const AttentionItem& item : result.items) {
      ASSERT_LT(item.row_begin, item.row_end);
      ASSERT_LE(item.rows_per_head(), kPanelQueries);
      ASSERT_LT(item.head_begin, item.head_end);
      if (item.rows_per_head() > kFewQueries) {
        ASSERT_EQ(item.head_end, item.head_begin + 1);
      }
      ASSERT_LE(item.token_begin, item.token_end);
      if (item.range > 0) {
        ASSERT_EQ(item.token_begin, before->token_end);
        ASSERT_EQ(item.row_begin, before->row_begin);
        ASSERT_LT(item.token_begin, item.token_end);
      } else {
        ASSERT_EQ(item.token_begin,
                  static_cast<std::size_t>(sequences[item.sequence].attend_begin));
      }
      if (item.range + 1 == item.num_ranges) {
        ASSERT_EQ(item.token_end, static_cast<std::size_t>(sequences[item.sequence].num_attend));
        for (std::size_t head = item.head_begin; head < item.head_end; ++head) {
          covered[{item.sequence, head}] += item.rows_per_head();
        }
      } else {
        ASSERT_EQ(item.token_end % 64, 0u);
      }
      if (item.num_ranges > 1) {
        ASSERT_EQ(item.partial_row, partial_rows);
        partial_rows += item.rows();
      }
      before = &item;
    }
    ASSERT_EQ(result.partial_rows, partial_rows);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      for (std::size_t head = 0; head < 2; ++head) {
        ASSERT_EQ((covered[{i, head}]), static_cast<std::size_t>(sequences[i].num_q) * 4);
      }
    }
  }
}

TEST(AttentionPlan, CutsOneLongSequenceForTheWholeTeam) {
  const AttentionPlan result = plan({{.num_q = 1, .num_attend = 32768}}, 8);
  EXPECT_GE(result.items.size(), 32u);
}

TEST(AttentionPlan, LeavesManyShortSequencesWhole) {
  const std::vector<AttentionSequence> sequences(32, {.num_q = 1, .num_attend = 200});
  EXPECT_EQ(plan(sequences, 4).items.size(), 32u);
  EXPECT_EQ(plan(sequences, 4).partial_rows, 0u);
}

TEST(AttentionPlan, CutsOneShortSequenceByHeads) {
  const AttentionPlan result = plan({{.num_q = 1, .num_attend = 200}}, 8);
  EXPECT_EQ(result.items.size(), 2u);
  EXPECT_EQ(result.partial_rows, 0u);
}

TEST(AttentionPlan, KeepsAllHeadsAndQueriesOfATokenInOneItem) {
  // 3 queries times 4 query heads each: every page is read once for all of them.
  const AttentionPlan result = plan({{.num_q = 3, .num_attend = 32768}}, 2);
  for (const AttentionItem& item : result.items) {
    EXPECT_EQ(item.head_end - item.head_begin, 2u);
    EXPECT_EQ(item.rows_per_head(), 12u);
  }
}

TEST(AttentionPlan, SharesWorkAmongThreadsWhateverTheBatch) {
  const std::vector<std::vector<AttentionSequence>> batches = {
      {{.num_q = 1, .num_attend = 32768}},
      {{.num_q = 1, .attend_begin = 28000, .num_attend = 32768}},
      std::vector<AttentionSequence>(64, {.num_q = 1, .num_attend = 256}),
      {{.num_q = 1, .num_attend = 30000}, {.num_q = 1, .num_attend = 100}},
      {{.num_q = 200, .num_attend = 4000}}};
  for (const auto& batch : batches) {
    const AttentionPlan result = plan(batch, 2);
    std::size_t all = 0, longest = 0;
    for (const AttentionItem& item : result.items) {
      const std::size_t tokens = item.token_end - item.token_begin;
      all += tokens * item.rows();
      longest = std::max(longest, tokens * item.rows());
    }
    EXPECT_LE(longest, all / 8);  // two threads finish within an eighth of each other
  }
}

TEST(AttentionPlan, CutsNothingForOneThread) {
  EXPECT_EQ(plan({{.num_q = 1, .num_attend = 100000}}, 1).items.size(), 1u);
}

TEST(AttentionPlan, ListsItemsNodeByNode) {
  AttentionPlan result = plan({{.num_q = 1, .num_attend = 32768}}, 4);
  const std::vector<AttentionItem> before = result.items;
  const auto home = [](const AttentionItem& item) {
    return static_cast<int>(item.token_begin / 1024 % 3);
  };
  result.sort_by_node(3, home);
  ASSERT_EQ(result.bounds.size(), 4u);
  EXPECT_EQ(result.bounds.front(), 0u);
  EXPECT_EQ(result.bounds.back(), before.size());
  std::vector<bool> seen(before.size());
  for (std::size_t node = 0; node < 3; ++node) {
    std::size_t last_token = 0;
    for (std::size_t i = result.bounds[node]; i < result.bounds[node + 1]; ++i) {
      const AttentionItem& item = result.items[i];
      EXPECT_EQ(home(item), static_cast<int>(node));
      EXPECT_GE(item.token_begin, last_token);  // in their original order
      last_token = item.token_begin;
      EXPECT_FALSE(seen[item.range]);
      seen[item.range] = true;
    }
  }
  result.sort_by_node(1, home);
  EXPECT_EQ(result.bounds, (std::vector<std::size_t>{0, before.size()}));
}

TEST(AttentionPlan, GivesNothingToDoWithoutQueries) {
  EXPECT_TRUE(plan({{.num_q = 0, .num_attend = 100}}, 2).items.empty());
}

}  // namespace
}  // namespace tandem::device::cpu
