// SPDX-License-Identifier: Apache-2.0
//
// Decode attention against a naive loop: types, widths, groups, pages, lengths, splits, windows,
// caps, several queries, and the reach of NaN.
#include "gpu_kernels/attention/decode_batch.h"

namespace tandem::gpu_kernels {
namespace {

constexpr KvType kTypes[] = {KvType::kF16, KvType::kBF16, KvType::kE4M3, KvType::kI8};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Probabilities are two bf16 values for bf16, else as good as f32.
double bound_of(KvType type) { return type == KvType::kBF16 ? 1e-5 : 2e-6; }

TEST_P(DecodeTest, DecodeAttendsOverEveryTypeAndWidth) {
  for (const KvType type : kTypes) {
    for (const int head_dim : {64, 80, 96, 128, 256, 33, 200}) {
      DecodeSetup setup = usual();
      setup.type = type;
      setup.head_dim = head_dim;
      setup.group = 3;
      setup.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
      DecodeBatch batch(setup, {{1, 0, 0}, {1, 0, 1}, {2, 0, 33}, {1, 0, 70}});
      batch.run();
      SCOPED_TRACE(head_dim);
      batch.expect_reference(bound_of(type));
    }
  }
}

TEST_P(DecodeTest, DecodeAttendsOverRaggedLengths) {
  for (const KvType type : kTypes) {
    DecodeSetup setup = usual();
    setup.type = type;
    setup.num_processors = 3;
    std::vector<DecodeSequence> sequences;
    for (const int length : {0, 1, 15, 16, 17, 31, 32, 63, 64, 65, 127, 128, 130, 257}) {
      sequences.push_back({1, 0, length});
    }
    DecodeBatch batch(setup, sequences);
    batch.run();
    batch.expect_reference(bound_of(type));
  }
}

TEST_P(DecodeTest, DecodeSharesReadsAmongQueryHeadsAndRows) {
  for (const int group : {1, 2, 5, 8, 9, 17, 24}) {
    for (const int num_q : {1, 3, 8}) {
      DecodeSetup setup = usual();
      setup.group = group;
      setup.kv_heads = 1;
      setup.type = num_q == 3 ? KvType::kI8 : KvType::kF16;
      DecodeBatch batch(setup, {{num_q, 0, 150}, {1, 0, 20}});
      batch.run();
      SCOPED_TRACE(group * 100 + num_q);
      batch.expect_reference(bound_of(setup.type));
    }
  }
}

TEST_P(DecodeTest, DecodeSharesReadsOfWideRows) {
  for (const KvType type : kTypes) {
    for (const int head_dim : {128, 256}) {
      DecodeSetup setup = usual();
      setup.type = type;
      setup.group = 5;
      setup.kv_heads = 1;
      setup.head_dim = head_dim;
      DecodeBatch batch(setup, {{8, 0, 100}});
      batch.run();
      batch.expect_reference(bound_of(type));
    }
  }
}

TEST_P(DecodeTest, DecodeTakesPagesOfEverySize) {
  for (const int page_tokens : {16, 32, 64, 128, 256}) {
    DecodeSetup setup = usual();
    setup.page_tokens = page_tokens;
    setup.type = page_tokens == 64 ? KvType::kE4M3 : KvType::kF16;
    setup.kv_heads = 1;
    DecodeBatch batch(setup, {{1, 0, 300}, {2, 0, page_tokens}, {1, 0, page_tokens + 1}});
    batch.run();
    batch.expect_reference(bound_of(setup.type));
  }
}

TEST_P(DecodeTest, DecodeGivesTheSameHoweverItIsSplit) {
  for (const int num_processors : {1, 4, 9}) {
    DecodeSetup setup = usual();
    setup.num_processors = num_processors;
    setup.kv_heads = 1;
    setup.type = KvType::kBF16;
    DecodeBatch batch(setup, {{1, 0, 2500}, {2, 0, 40}, {1, 5, 700}});
    batch.run();
    batch.expect_reference(bound_of(setup.type));
  }
}

TEST_P(DecodeTest, DecodeWalksLongRangesInOneBlock) {
  DecodeSetup setup = usual();
  setup.num_processors = 1;
  setup.kv_heads = 1;
  setup.type = KvType::kI8;
  DecodeBatch batch(setup, {{1, 0, 9500}});  // some 2,400 tokens per block: 37 stages
  batch.run();
  batch.expect_reference(bound_of(setup.type));
  // three of four warps have rows and share what all four copy, over more stages than are held
  setup.group = 24;
  DecodeBatch sharing(setup, {{1, 0, 1300}});
  sharing.run();
  sharing.expect_reference(bound_of(setup.type));
}

TEST_P(DecodeTest, DecodeSeesWindowsOnly) {
  for (const KvType type : kTypes) {
    DecodeSetup setup = usual();
    setup.type = type;
    setup.kv_heads = 1;
    DecodeBatch batch(setup, {{1, 7, 8}, {2, 15, 140}, {1, 16, 16}, {1, 100, 300}, {1, 63, 64}});
    batch.run();
    batch.expect_reference(bound_of(type));
  }
}

TEST_P(DecodeTest, DecodeCapsScoresSoftly) {
  for (const float cap : {0.5f, 30.0f}) {
    DecodeSetup setup = usual();
    setup.softcap = cap;
    setup.q_size = 4.0f;
    DecodeBatch batch(setup, {{1, 0, 100}, {1, 0, 3}});
    batch.run();
    batch.expect_reference(4e-6);
  }
}

TEST_P(DecodeTest, DecodeKeepsQueriesOfAnySize) {
  for (const float size : {1e-12f, 1e-3f, 30.0f, 1e12f}) {
    for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kE4M3}) {
      DecodeSetup setup = usual();
      setup.type = type;
      setup.kv_heads = 1;
      setup.q_size = size;
      setup.scale = size > 100 ? 1e-12f : 0.125f;
      DecodeBatch batch(setup, {{1, 0, 100}});
      batch.run();
      batch.expect_reference(size > 10 ? 3e-5 : bound_of(type));
    }
  }
}

TEST_P(DecodeTest, DecodeKeepsScalesOfAnySize) {
  DecodeSetup setup = usual();
  setup.type = KvType::kE4M3;
  setup.kv_heads = 1;
  DecodeBatch batch(setup, {{1, 0, 90}, {1, 0, 90}});
  for (int sequence = 0; sequence < 2; ++sequence) {
    for (int token = 0; token < 90; ++token) {
      // the first grows by tokens beyond the range of f16; the second is huge throughout
      batch.pool().set_scale(batch.kv_row_of(sequence, true, 0, token),
                             std::ldexp(1.0f, sequence == 0 ? -100 + 2 * token : 117));
    }
  }
  batch.run();
  batch.expect_reference(2e-6);
}

TEST_P(DecodeTest, DecodeKeepsNanWithItsHead) {
  for (const KvType type : {KvType::kF16, KvType::kI8, KvType::kE4M3}) {
    DecodeSetup setup = usual();
    setup.type = type;
    DecodeBatch batch(setup, {{2, 0, 80}, {1, 0, 80}, {1, 0, 80}});
    batch.q()[batch.q_index(0, 3, 11)] = kNan;
    const std::size_t k = batch.kv_row_of(1, false, 1, 79), v = batch.kv_row_of(2, true, 0, 3);
    if (type == KvType::kF16) {
      batch.pool().set_bits(k, 5, 0x7e00);
      batch.pool().set_bits(v, 5, 0x7e00);
    } else {
      batch.pool().set_scale(k, kNan);
      batch.pool().set_scale(v, kNan);
    }
    batch.run();
    for (int head = 0; head < 8; ++head) {
      const auto at = [&](int row) { return static_cast<std::size_t>(row * 8 + head); };
      EXPECT_EQ(std::isnan(batch.lse[at(0)]), head == 3) << head;
      EXPECT_EQ(std::isnan(batch.o[batch.q_index(0, head, 0)]), head == 3) << head;
      EXPECT_FALSE(std::isnan(batch.lse[at(1)])) << head;
      EXPECT_EQ(std::isnan(batch.lse[at(3)]), head >= 4) << head;
      EXPECT_EQ(std::isnan(batch.o[batch.q_index(3, head, 9)]), head >= 4) << head;
      EXPECT_EQ(std::isnan(batch.o[batch.q_index(5, head, 5)]), head < 4) << head;
    }
  }
}

TEST_P(DecodeTest, DecodeReadsNothingBesideItsRange) {
  for (const KvType type : kTypes) {
    DecodeSetup setup = usual();
    setup.type = type;
    setup.page_tokens = 32;
    DecodeBatch batch(setup, {{1, 18, 41}});
    for (int token = 0; token < 64; ++token) {
      if (token >= 18 && token < 41) continue;
      for (const bool is_v : {false, true}) {
        for (int head = 0; head < setup.kv_heads; ++head) {
          const std::size_t row = batch.kv_row_of(0, is_v, head, token);
          if (has_scales(type)) batch.pool().set_scale(row, kNan);
          const unsigned nan = type == KvType::kF16 ? 0x7e00 : type == KvType::kBF16 ? 0x7fc0 : 127;
          for (int d = 0; d < setup.head_dim; ++d) batch.pool().set_bits(row, d, nan);
        }
      }
    }
    batch.run();
    batch.expect_reference(bound_of(type));
  }
}

TEST_P(DecodeTest, DecodeOfABucketTakesEveryBatchThatFits) {
  DecodeSetup setup = usual();
  DecodeBatch longer(setup, {{1, 0, 500}, {2, 0, 260}, {1, 3, 4}});
  const DecodeBucket bucket = make_decode_bucket(longer.shape(), 4, 8, 2);
  longer.run(bucket);
  longer.expect_reference(2e-6);
  DecodeBatch one(setup, {{1, 0, 5}});
  one.run(bucket);
  one.expect_reference(2e-6);
  DecodeBatch none(setup, {});
  none.run(bucket);
}

TEST_P(DecodeTest, DecodeRefusesShapesThatItIsNotMadeFor) {
  DecodeSetup setup = usual();
  DecodeBatch batch(setup, {{1, 0, 5}});
  DecodeShape shape = batch.shape();
  shape.head_dim = 257;
  EXPECT_EQ(make_decode_bucket(shape, 1, 1, 1).num_blocks, 0);
  shape = batch.shape();
  shape.page_tokens = 8;
  EXPECT_EQ(make_decode_bucket(shape, 1, 1, 1).num_blocks, 0);
  DecodeAttention job;
  job.pool = batch.pool().upload();
  EXPECT_EQ(decode_attention(make_decode_bucket(shape, 1, 1, 1), job, nullptr),
            cudaErrorInvalidValue);
  shape = batch.shape();
  shape.head_dim = 128;
  EXPECT_EQ(decode_attention(make_decode_bucket(shape, 1, 1, 1), job, nullptr),
            cudaErrorInvalidValue);
  job.layer = 2;
  EXPECT_EQ(decode_attention(make_decode_bucket(batch.shape(), 1, 1, 1), job, nullptr),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
