// SPDX-License-Identifier: Apache-2.0
//
// Plans of decode attention: every token of every head and group is assigned once, evenly, within
// the bucket's bounds.
#include "attention/decode_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace tandem::gpu_kernels {
namespace {

DecodeShape usual_shape() {
  DecodeShape shape;
  shape.q_heads = 32;
  shape.kv_heads = 8;
  shape.head_dim = 128;
  shape.page_tokens = 16;
  shape.num_processors = 132;
  return shape;
}

struct Batch {
  std::vector<DecodeGroup> groups;
  std::vector<std::int32_t> rows;

  void add(int num_rows, int begin, int end) {
    groups.push_back({static_cast<std::int32_t>(rows.size()), num_rows, 0, begin, end});
    for (int i = 0; i < num_rows; ++i) rows.push_back(static_cast<std::int32_t>(rows.size()));
  }
};

struct Dealt {
  int num_items = 0, num_partials = 0;
  std::int64_t most = 0, all = 0;  // tokens of a block, of all
};

// Which part of which group: (row_begin, first, kv_head).
using Part = std::tuple<int, int, int>;

Dealt check_plan(const DecodeBucket& bucket, const Batch& batch) {
  std::vector<std::byte> plan(bucket.plan_bytes);
  EXPECT_TRUE(plan_decode(bucket, batch.groups, batch.rows, plan));
  const DecodePlanView view = view_decode_plan(bucket, plan.data());
  std::map<Part, std::vector<DecodeItem>> parts;
  Dealt dealt;
  EXPECT_EQ(view.block_begin[0], 0);
  for (int block = 0; block < bucket.num_blocks; ++block) {
    std::int64_t tokens = 0;
    EXPECT_LE(view.block_begin[block], view.block_begin[block + 1]);
    for (int i = view.block_begin[block]; i < view.block_begin[block + 1]; ++i) {
      const DecodeItem& item = view.items[i];
      parts[{item.row_begin, item.first, item.kv_head}].push_back(item);
      tokens += item.token_end - item.token_begin;
      ++dealt.num_items;
    }
    dealt.most = std::max(dealt.most, tokens);
    dealt.all += tokens;
  }
  EXPECT_LE(dealt.num_items, bucket.max_items);
  int num_split = 0;
  for (const auto& [part, items] : parts) {
    for (std::size_t i = 0; i + 1 < items.size(); ++i) {
      EXPECT_EQ(items[i].token_end, items[i + 1].token_begin);
      EXPECT_EQ(items[i].partial + 1, items[i + 1].partial);
    }
    EXPECT_EQ(items[0].partial >= 0, items.size() > 1);
    dealt.num_partials += items.size() > 1 ? static_cast<int>(items.size()) : 0;
    num_split += items.size() > 1 ? 1 : 0;
  }
  EXPECT_LE(dealt.num_partials, 2 * bucket.num_blocks);
  EXPECT_LE(num_split, bucket.num_blocks);
  EXPECT_EQ(*view.num_reductions, num_split);
  for (int i = 0; i < *view.num_reductions; ++i) {
    const DecodeReduction& reduction = view.reductions[i];
    const auto& items =
        parts[{reduction.item.row_begin, reduction.item.first, reduction.item.kv_head}];
    EXPECT_EQ(reduction.num_partials, static_cast<int>(items.size()));
    EXPECT_EQ(reduction.first_partial, items[0].partial);
    EXPECT_EQ(reduction.item.partial, -1);
  }
  const int heads = bucket.shape.q_heads / bucket.shape.kv_heads;
  std::size_t num_parts = 0;
  for (const DecodeGroup& group : batch.groups) {
    for (int first = 0; first < group.num_rows * heads; first += bucket.item_rows) {
      for (int kv_head = 0; kv_head < bucket.shape.kv_heads; ++kv_head, ++num_parts) {
        const auto& items = parts[{group.row_begin, first, kv_head}];
        EXPECT_FALSE(items.empty());
        if (items.empty()) continue;
        EXPECT_EQ(items.front().token_begin, group.attend_begin);
        EXPECT_EQ(items.back().token_end, group.num_attend);
        EXPECT_EQ(items[0].num, std::min(bucket.item_rows, group.num_rows * heads - first));
      }
    }
  }
  EXPECT_EQ(parts.size(), num_parts);
  EXPECT_TRUE(std::equal(batch.rows.begin(), batch.rows.end(), view.rows));
  return dealt;
}

TEST(DecodePlan, DealsEqualLengthsEvenly) {
  for (const int sequences : {1, 7, 32, 33, 34, 200}) {
    Batch batch;
    for (int i = 0; i < sequences; ++i) batch.add(1, 0, 4096);
    const DecodeBucket bucket = make_decode_bucket(usual_shape(), 256, 256, 1);
    const Dealt dealt = check_plan(bucket, batch);
    const double even = static_cast<double>(dealt.all) / bucket.num_blocks;
    EXPECT_LE(static_cast<double>(dealt.most), std::max(even * 1.15, even + 130)) << sequences;
  }
}

TEST(DecodePlan, DealsOneLongSequenceToAllBlocks) {
  Batch batch;
  for (int i = 0; i < 15; ++i) batch.add(1, 0, 100);
  batch.add(1, 0, 200'000);
  const DecodeBucket bucket = make_decode_bucket(usual_shape(), 16, 16, 1);
  const Dealt dealt = check_plan(bucket, batch);
  EXPECT_LE(static_cast<double>(dealt.most),
            1.15 * static_cast<double>(dealt.all) / bucket.num_blocks);
}

TEST(DecodePlan, HoldsItsBoundsForRandomBatches) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    DecodeShape shape = usual_shape();
    shape.num_processors = 1 + static_cast<int>(random() % 20);
    shape.kv_heads = 1 + static_cast<int>(random() % 4);
    shape.q_heads = shape.kv_heads * (1 + static_cast<int>(random() % 12));
    Batch batch;
    const int num_groups = static_cast<int>(random() % 40);
    for (int i = 0; i < num_groups; ++i) {
      const int begin = static_cast<int>(random() % 3 == 0 ? random() % 500 : 0);
      const int length = static_cast<int>(random() % (1u << random() % 13));
      batch.add(static_cast<int>(random() % 9), begin, begin + length);
    }
    const DecodeBucket bucket = make_decode_bucket(shape, 40, 320, 8);
    check_plan(bucket, batch);
  }
}

TEST(DecodePlan, ABucketsShapeDependsOnNoLength) {
  const DecodeBucket bucket = make_decode_bucket(usual_shape(), 8, 8, 1);
  EXPECT_EQ(bucket.item_rows, 8);
  EXPECT_EQ(bucket.num_blocks % 132, 0);
  Batch longer;
  for (int i = 0; i < 8; ++i) longer.add(1, 0, 1'000'000);
  check_plan(bucket, longer);
  Batch none;
  check_plan(bucket, none);
}

TEST(DecodePlan, TakesNarrowerItemsWhereSharedMemoryIsShort) {
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kE4M3, KvType::kI8}) {
    for (const int head_dim : {64, 80, 96, 128, 256}) {
      DecodeShape shape = usual_shape();
      shape.type = type;
      shape.head_dim = head_dim;
      for (const int kibibytes : {228, 164, 100}) {
        shape.shared_bytes = kibibytes * 1024;
        const DecodeBucket bucket = make_decode_bucket(shape, 8, 64, 16);
        if (kibibytes == 100 && head_dim == 256 && !has_scales(type)) {
          EXPECT_EQ(bucket.num_blocks, 0);
          continue;
        }
        EXPECT_GT(bucket.num_blocks, 0);
        EXPECT_LE(bucket.shared_bytes + 1024, static_cast<std::size_t>(shape.shared_bytes));
        if (kibibytes == 228) {
          EXPECT_EQ(bucket.item_rows, head_dim == 256 ? 32 : 64);
        }
        EXPECT_LE(make_decode_bucket(shape, 8, 64, 1).shared_bytes,
                  static_cast<std::size_t>(head_dim == 256 && !has_scales(type) ? 146 : 79) * 1024);
      }
    }
  }
}

TEST(DecodePlan, TheHopperPathHoldsStagesOrLeavesTheShapeToTheOther) {
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kE4M3, KvType::kI8}) {
    for (const int head_dim : {64, 80, 96, 128, 256}) {
      for (const int group_rows : {1, 16}) {
        DecodeShape shape = usual_shape();
        shape.type = type;
        shape.head_dim = head_dim;
        shape.path = KernelPath::kHopper;
        shape.shared_bytes = 228 * 1024;
        const DecodeBucket bucket = make_decode_bucket(shape, 8, 64, group_rows);
        EXPECT_EQ(bucket.shape.path, KernelPath::kHopper);
        EXPECT_GE(bucket.stages, head_dim == 256 || group_rows > 1 ? 2 : 3);
        const std::size_t resident = static_cast<unsigned>(bucket.num_blocks / 132);
        EXPECT_LE(resident * (bucket.shared_bytes + 1024), 228u * 1024);
        EXPECT_LE(bucket.shared_bytes, 227u * 1024);
        Batch batch;
        for (int i = 0; i < 8; ++i) batch.add(group_rows > 1 ? 8 : 1, 0, 1000);
        check_plan(bucket, batch);
        shape.shared_bytes = 48 * 1024;
        const DecodeBucket small = make_decode_bucket(shape, 8, 64, group_rows);
        if (small.num_blocks == 0) continue;
        EXPECT_LE(small.shared_bytes + 1024, 48u * 1024);
        EXPECT_EQ(small.stages > 0, small.shape.path == KernelPath::kHopper);
      }
    }
  }
  DecodeShape shape = usual_shape();
  shape.path = KernelPath::kHopper;
  shape.head_dim = 128;
  shape.shared_bytes = 64 * 1024;
  EXPECT_EQ(make_decode_bucket(shape, 8, 64, 1).shape.path, KernelPath::kGeneric);
}

TEST(DecodePlan, RefusesBatchesThatDoNotFit) {
  const DecodeBucket bucket = make_decode_bucket(usual_shape(), 2, 3, 2);
  std::vector<std::byte> plan(bucket.plan_bytes);
  Batch groups;
  for (int i = 0; i < 3; ++i) groups.add(1, 0, 10);
  EXPECT_FALSE(plan_decode(bucket, groups.groups, groups.rows, plan));
  Batch rows;
  rows.add(4, 0, 10);
  EXPECT_FALSE(plan_decode(bucket, rows.groups, rows.rows, plan));
  Batch fits;
  fits.add(2, 0, 10);
  EXPECT_TRUE(plan_decode(bucket, fits.groups, fits.rows, plan));
  EXPECT_FALSE(plan_decode(bucket, fits.groups, fits.rows, std::span(plan).first(16)));
  fits.groups[0].num_attend = -1;
  EXPECT_FALSE(plan_decode(bucket, fits.groups, fits.rows, plan));
  fits.groups[0] = {1, 2, 0, 0, 4};
  EXPECT_FALSE(plan_decode(bucket, fits.groups, fits.rows, plan));
}

}  // namespace
}  // namespace tandem::gpu_kernels
