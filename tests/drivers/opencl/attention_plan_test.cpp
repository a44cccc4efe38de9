// SPDX-License-Identifier: Apache-2.0
//
// Batches cut into work-groups: every (query, token) pair is covered once, splits are balanced and
// bounded, and the packed words are at the header's offsets.
#include "opencl/attention_plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace tandem::opencl {
namespace {

using device::AttentionBatch;
using device::AttentionGeometry;
using device::AttentionSequence;

const AttentionGeometry kGeometry = {
    .num_layers = 1, .q_heads = 4, .kv_heads = 2, .head_dim = 2, .page_tokens = 16};
const PlanLimits kLimits = {.decode_queries = 2, .chunk_queries = 8, .work_groups = 8};

struct Sequences {
  std::vector<AttentionSequence> sequences;
  std::vector<device::PageId> pages;
  std::vector<float> q, k, v;

  void add(std::int32_t num_q, std::int32_t num_attend, std::int32_t num_new = 0) {
    AttentionSequence s;
    s.q_begin = static_cast<std::int32_t>(q.size() / 8);
    s.num_q = num_q;
    s.new_begin = static_cast<std::int32_t>(k.size() / 4);
    s.num_new = num_new;
    s.append_at = std::max(0, num_attend - num_new);
    s.num_attend = num_attend;
    s.page_begin = static_cast<std::int32_t>(pages.size());
    s.num_pages = (std::max(num_attend, num_new) + 15) / 16;
    for (int i = 0; i < s.num_pages; ++i) pages.push_back(1000 + pages.size());
    const auto number = [](std::vector<float>* values, std::size_t count) {
      const std::size_t from = values->size();
      values->resize(from + count);
      std::iota(values->begin() + from, values->end(), static_cast<float>(from));
    };
    number(&q, num_q * 8);
    number(&k, num_new * 4);
    number(&v, num_new * 4);
    sequences.push_back(s);
  }
  AttentionBatch batch() const {
    return {.scale = 0.5f, .q = q, .k = k, .v = v, .sequences = sequences, .pages = pages};
  }
};

// Counts how often each (compact row, query vector of a KV head, token) is attended to.
void expect_every_pair_once(const Sequences& in, const BatchPlan& plan) {
  std::map<std::tuple<int, int>, std::vector<int>> seen;
  const auto count = [&](const std::vector<PartEntry>& parts, int queries) {
    for (const PartEntry& part : parts) {
      ASSERT_LT(part.token_begin, part.token_end);
      ASSERT_EQ(part.token_begin % 16, 0);
      for (int f = part.first_query; f < std::min(part.first_query + queries, part.num_queries);
           ++f) {
        auto& tokens = seen[{part.q_row, f}];
        tokens.resize(std::max<std::size_t>(tokens.size(), part.token_end));
        for (int t = part.token_begin; t < part.token_end; ++t) ++tokens[t];
      }
    }
  };
  count(plan.decode_parts, kLimits.decode_queries);
  count(plan.chunk_parts, kLimits.chunk_queries);
  std::size_t expected = 0, range = 0;
  for (const AttentionSequence& s : in.sequences) {
    if (s.num_q == 0 || s.num_attend == 0) continue;
    const RowRange& rows = plan.queries[range++];
    ASSERT_EQ(rows.caller_row, s.q_begin);
    expected += s.num_q * 2;
    for (int f = 0; f < s.num_q * 2; ++f) {
      EXPECT_EQ((seen[{rows.compact_row, f}]), std::vector<int>(s.num_attend, 1));
    }
  }
  EXPECT_EQ(seen.size(), expected);
}

TEST(AttentionPlan, CoversEveryQueryAndTokenOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Sequences in;
    for (int i = 0; i < 1 + round % 5; ++i) {
      in.add(static_cast<int>(random() % 6), static_cast<int>(random() % 3000),
             static_cast<int>(random() % 3));
    }
    expect_every_pair_once(in, plan_batch(kGeometry, kLimits, in.batch()));
  }
}

TEST(AttentionPlan, SplitsALongSequenceAmongAllWorkGroups) {
  Sequences in;
  in.add(1, 8192);
  const BatchPlan plan = plan_batch(kGeometry, kLimits, in.batch());
  EXPECT_EQ(plan.decode_parts.size() * kGeometry.kv_heads, 8u);
  ASSERT_EQ(plan.merges.size(), 1u);
  EXPECT_EQ(plan.merges[0].num_parts, 4);
  EXPECT_EQ(plan.scratch_slots, 4);
}

TEST(AttentionPlan, LeavesShortSequencesWhole) {
  Sequences in;
  for (int i = 0; i < 8; ++i) in.add(1, 200);
  const BatchPlan plan = plan_batch(kGeometry, kLimits, in.batch());
  EXPECT_EQ(plan.decode_parts.size(), 8u);
  EXPECT_TRUE(plan.merges.empty());
  EXPECT_EQ(plan.scratch_slots, 0);
}

TEST(AttentionPlan, RangesOfARowHaveTheirOwnScratchSlots) {
  Sequences in;
  in.add(3, 9000);
  in.add(2, 7000);
  const BatchPlan plan = plan_batch(kGeometry, kLimits, in.batch());
  ASSERT_EQ(plan.merges.size(), 5u);
  std::set<int> slots, rows;
  for (const MergeEntry& merge : plan.merges) {
    rows.insert(merge.out_row);
    for (int i = 0; i < merge.num_parts; ++i) slots.insert(merge.first_slot + i * merge.slot_step);
  }
  EXPECT_EQ(rows, (std::set<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(slots.size(), static_cast<std::size_t>(plan.scratch_slots));
  EXPECT_EQ(*slots.rbegin(), plan.scratch_slots - 1);
}

TEST(AttentionPlan, ScratchStaysWithinTheStatedBound) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    Sequences in;
    int rows = 0;
    for (int i = 0; i < 1 + round % 7; ++i) {
      const int num_q = 1 + static_cast<int>(random() % 40);
      rows += num_q;
      in.add(num_q, 1 + static_cast<int>(random() % 20000));
    }
    const BatchPlan plan = plan_batch(kGeometry, kLimits, in.batch());
    EXPECT_LE(plan.scratch_slots, kLimits.work_groups * 8 / kGeometry.q_heads + 2 * rows);
  }
}

TEST(AttentionPlan, AppendsGoToThePageAndSlotOfTheirToken) {
  Sequences in;
  in.add(0, 18, 5);  // tokens 13..17 of pages 1000, 1001
  const BatchPlan plan = plan_batch(kGeometry, kLimits, in.batch());
  ASSERT_EQ(plan.appends.size(), 5u);
  const int pages[] = {1000, 1000, 1000, 1001, 1001}, slots[] = {13, 14, 15, 0, 1};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(plan.appends[i].row, i);
    EXPECT_EQ(plan.appends[i].page, pages[i]);
    EXPECT_EQ(plan.appends[i].slot, slots[i]);
  }
  EXPECT_TRUE(plan.decode_parts.empty() && plan.chunk_parts.empty());
}

TEST(AttentionPlan, QueriesWithoutTokensNeedNoDevice) {
  Sequences in;
  in.add(3, 0);
  const BatchPlan plan = plan_batch(kGeometry, kLimits, in.batch());
  EXPECT_EQ(plan.q_rows, 0);
  ASSERT_EQ(plan.unanswered.size(), 1u);
  EXPECT_EQ(plan.unanswered[0].num_rows, 3);
}

TEST(AttentionPlan, PackedWordsStandWhereTheHeaderSays) {
  Sequences in;
  in.add(1, 20, 2);
  in.add(2, 0);
  in.add(1, 3000, 1);
  const BatchPlan plan = plan_batch(kGeometry, kLimits, in.batch());
  std::vector<std::uint32_t> words(plan.input_words(kGeometry) + 1, 0xabcdu);
  pack_input(kGeometry, plan, in.batch(), std::span(words).first(words.size() - 1));
  EXPECT_EQ(words.back(), 0xabcdu);
  const auto as_float = [&](std::size_t at) { return std::bit_cast<float>(words[at]); };
  EXPECT_EQ(words[0], 8u);
  EXPECT_EQ(as_float(words[0] + 1), 0.5f);       // q[0][1] * scale
  EXPECT_EQ(as_float(words[0] + 8), 0.5f * 24);  // the third sequence's row follows the first's
  EXPECT_EQ(as_float(words[1] + 11), 11.0f);
  EXPECT_EQ(as_float(words[2] + 11), 11.0f);
  EXPECT_EQ(words[words[3] + 3], 1u);     // row of the second append
  EXPECT_EQ(words[words[4] + 5], 20u);    // token_end of the first part
  EXPECT_EQ(words[words[6]], 1000u);      // pages
  EXPECT_EQ(words[words[6] + 2], 1002u);  // of the third sequence
  EXPECT_EQ(words[6] + plan.pages.size(), plan.input_words(kGeometry));
}

}  // namespace
}  // namespace tandem::opencl
