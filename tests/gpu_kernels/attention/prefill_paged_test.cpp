// SPDX-License-Identifier: Apache-2.0
//
// paged_attention() against naive loops over the pages.
#include <cstring>

#include "gpu_kernels/attention/prefill_cases.h"

namespace tandem::gpu_kernels {
namespace {

double bound_of(const PrefillShape& shape) {
  if (!shape.exact) return shape.type == KvType::kF16 ? 1e-6 : 1e-4;
  return shape.type == KvType::kF16 ? 1e-10 : 3e-9;
}

void expect_case(PrefillCase of, int pages_each) {
  const PrefillPool pool = random_pool(of, pages_each, 2);
  const PrefillRows rows = random_rows(of, 3);
  expect_paged(of, rows, pool, run_paged(of, rows, pool), bound_of(of.shape));
}

// Rows that see one token, some, a tile, all of a page, and no token.
std::vector<PrefillSequence> ragged_sequences(int tokens) {
  return {{.q_begin = 1, .num_q = 9, .num_attend = 1},
          {.q_begin = 10, .num_q = 33, .num_attend = tokens},
          {.q_begin = 44, .num_q = 10, .attend_begin = 5, .num_attend = 69},
          {.q_begin = 54, .num_q = 2, .attend_begin = 7, .num_attend = 7},
          {.q_begin = 56, .num_q = 12, .attend_begin = 15, .num_attend = 33}};
}

TEST_P(PrefillTest, PagedAttentionOfRaggedSequencesOfEveryTypeAndPageSize) {
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kI8, KvType::kE4M3}) {
    for (const int page_tokens : {16, 32, 256}) {
      PrefillCase of{.sequences = ragged_sequences(130)};
      of.shape.type = type;
      of.shape.page_tokens = page_tokens;
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << ", pages of " << page_tokens);
      expect_case(of, (130 + page_tokens - 1) / page_tokens);
    }
  }
}

TEST_P(PrefillTest, PagedAttentionOfEveryHeadWidth) {
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kI8, KvType::kE4M3}) {
    for (const int head_dim : {80, 96, 128, 256, 40, 200}) {
      PrefillCase of{.sequences = {{.q_begin = 0, .num_q = 20, .num_attend = 75}}};
      of.shape.type = type;
      of.shape.page_tokens = 16;
      of.shape.head_dim = head_dim;
      of.shape.q_heads = of.shape.kv_heads = 1;
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << ", " << head_dim);
      expect_case(of, 5);
    }
  }
}

TEST_P(PrefillTest, PagedAttentionOfWideHeadsInBlocksOf99KiB) {
  constexpr int kBlockBytes = 99 * 1024;
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kI8, KvType::kE4M3}) {
    PrefillCase of{.sequences = ragged_sequences(130)};
    of.shape.type = type;
    of.shape.page_tokens = 16;
    of.shape.head_dim = 128;
    of.shape.q_heads = of.shape.kv_heads = 1;
    of.shape.block_bytes = kBlockBytes;
    const PrefillBucket bucket = make_prefill_bucket(of.shape, 1, 1);
    EXPECT_EQ(bucket.tile_keys, 32);
    EXPECT_LE(prefill_block_bytes(value_bytes_of(type), 128, true, 32), kBlockBytes);
    SCOPED_TRACE(static_cast<int>(type));
    expect_case(of, 9);
    of.shape.head_dim = 256;
    EXPECT_EQ(make_prefill_bucket(of.shape, 1, 1).num_tiles, 0);
    of.shape.block_bytes = 0;
    EXPECT_GT(make_prefill_bucket(of.shape, 1, 1).num_tiles, 0);
  }
}

TEST_P(PrefillTest, PagedAttentionWritesPairsWhereResultsAreAlignedToOneValueOnly) {
  PrefillCase of{.sequences = ragged_sequences(40)};
  of.shape.page_tokens = 16;
  of.o_offset = 1;
  expect_case(of, 5);
}

TEST_P(PrefillTest, PagedAttentionOfEveryGroupSize) {
  for (const auto& [q_heads, kv_heads] : {std::pair{3, 3}, {12, 2}, {8, 1}, {71, 1}}) {
    PrefillCase of{.sequences = {{.q_begin = 2, .num_q = 11, .num_attend = 100}}};
    of.shape.page_tokens = 64;
    of.shape.q_heads = q_heads;
    of.shape.kv_heads = kv_heads;
    SCOPED_TRACE(testing::Message() << q_heads << " over " << kv_heads);
    expect_case(of, 2);
  }
}

TEST_P(PrefillTest, PagedAttentionCapsScoresAndMayRoundOperands) {
  for (const KvType type : {KvType::kF16, KvType::kBF16}) {
    PrefillCase of{.softcap = 3.0f, .sequences = ragged_sequences(80)};
    of.shape.type = type;
    of.shape.page_tokens = 128;
    expect_case(of, 1);
    of.shape.exact = false;
    expect_case(of, 1);
  }
}

TEST_P(PrefillTest, PagedAttentionOverManyTilesOfKeys) {
  if (std::get<0>(GetParam()) == 1) GTEST_SKIP() << "two orders are enough";
  for (const bool exact : {true, false}) {
    PrefillCase of{
        .q_size = 0.3f,
        .sequences = {{.q_begin = 0, .num_q = 40, .attend_begin = 37, .num_attend = 690}}};
    of.shape.page_tokens = 32;
    of.shape.head_dim = 128;
    of.shape.exact = exact;
    expect_case(of, 22);
  }
}

// All rows of the pool but those of the case's tokens become NaN.
void poison_other_tokens(const PrefillCase& of, PrefillPool& made) {
  const KvPool& pool = made.pool;
  const auto width = static_cast<std::size_t>(kv_row_values(pool.head_dim)) * 2;
  const std::vector<unsigned char> values = made.values;
  made.values.assign(values.size(), 0xff);
  for (const PrefillSequence& sequence : of.sequences) {
    for (int token = sequence.attend_begin; token < sequence.num_attend; ++token) {
      const std::uint32_t page =
          made.pages[static_cast<std::size_t>(sequence.page_begin + token / pool.page_tokens)];
      for (int at = 0; at < 2 * pool.kv_heads; ++at) {
        const std::size_t row =
            kv_row(pool, 1, page, at % 2 != 0, at / 2, token % pool.page_tokens);
        std::memcpy(made.values.data() + row * width, values.data() + row * width, width);
      }
    }
  }
}

TEST_P(PrefillTest, PagedAttentionReadsNothingIntoItsResultsThatLiesOutsideItsTokens) {
  for (const KvType type : {KvType::kF16, KvType::kBF16}) {
    PrefillCase of{.sequences = ragged_sequences(130)};
    of.shape.type = type;
    of.shape.page_tokens = 32;
    PrefillPool pool = random_pool(of, 5, 2);
    poison_other_tokens(of, pool);
    const PrefillRows rows = random_rows(of, 3);
    expect_paged(of, rows, pool, run_paged(of, rows, pool), bound_of(of.shape));
  }
}

TEST_P(PrefillTest, PagedAttentionIsBitwiseTheSameWhateverSharesTheCall) {
  PrefillCase of{.sequences = ragged_sequences(130)};
  of.shape.page_tokens = 32;
  const PrefillPool pool = random_pool(of, 5, 2);
  const PrefillRows rows = random_rows(of, 3);
  const PrefillAnswer together = run_paged(of, rows, pool);
  PrefillCase alone = of;
  alone.sequences = {of.sequences[1]};
  alone.max_sequences = 4;
  alone.max_rows = 100;
  const PrefillAnswer answer = run_paged(alone, rows, pool);
  for (std::size_t i = 10 * 4 * 64; i < 43 * 4 * 64; ++i)
    ASSERT_EQ(answer.o[i], together.o[i]) << i;
  for (std::size_t i = 10 * 4; i < 43 * 4; ++i) ASSERT_EQ(answer.lse[i], together.lse[i]) << i;
}

TEST_P(KernelTest, PagedAttentionRefusesAPoolOfAnotherShape) {
  const PrefillShape shape{.q_heads = 4, .kv_heads = 2, .head_dim = 64, .page_tokens = 16};
  const PrefillBucket bucket = make_prefill_bucket(shape, 1, 8);
  EXPECT_EQ(causal_attention(bucket, {}, nullptr), cudaErrorInvalidValue);
  const auto refused = [&](auto change) {
    PagedAttention job;
    job.pool = {.num_layers = 1, .kv_heads = 2, .head_dim = 64, .page_tokens = 16, .num_pages = 1};
    change(job);
    return paged_attention(bucket, job, nullptr) == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(refused([](PagedAttention& job) { job.layer = 1; }));
  EXPECT_TRUE(refused([](PagedAttention& job) { job.pool.type = KvType::kI8; }));
  EXPECT_TRUE(refused([](PagedAttention& job) { job.pool.head_dim = 80; }));
  EXPECT_TRUE(refused([](PagedAttention& job) { job.pool.page_tokens = 32; }));
  EXPECT_TRUE(refused([](PagedAttention& job) { job.pool.kv_heads = 4; }));
}

}  // namespace
}  // namespace tandem::gpu_kernels
