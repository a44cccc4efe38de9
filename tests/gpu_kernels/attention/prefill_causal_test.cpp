// SPDX-License-Identifier: Apache-2.0
//
// causal_attention() against naive loops over the rows as its workspace stores them.
#include <cmath>
#include <cstring>
#include <limits>

#include "gpu_kernels/attention/prefill_cases.h"

namespace tandem::gpu_kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Of the NMSE of a head: operands of two f16 or two bf16 parts, or of one.
double bound_of(const PrefillShape& shape) {
  const bool half = shape.type == KvType::kF16 && !shape.unrounded;
  if (!shape.exact) return half ? 1e-6 : 1e-4;
  return half ? 1e-10 : 3e-9;
}

void expect_case(const PrefillCase& of, unsigned seed = 1) {
  const PrefillRows rows = random_rows(of, seed);
  expect_causal(of, rows, run_causal(of, rows), bound_of(of.shape));
}

const std::vector<KvType> kTypes{KvType::kF16, KvType::kBF16, KvType::kI8, KvType::kE4M3};

TEST_P(PrefillTest, CausalAttentionOfRaggedChunksOfEveryType) {
  for (const KvType type : kTypes) {
    PrefillCase of{.sequences = ragged_chunks({1, 2, 33, 70})};
    of.shape.type = type;
    SCOPED_TRACE(static_cast<int>(type));
    expect_case(of);
  }
}

TEST_P(PrefillTest, CausalAttentionOfLongChunksCrossesTilesAndWorkspacePages) {
  if (std::get<0>(GetParam()) != 0) GTEST_SKIP() << "one order is enough";
  PrefillCase of{.sequences = ragged_chunks({200, 127, 64, 65})};
  of.shape.kv_heads = 1;
  of.shape.q_heads = 1;
  expect_case(of);
  of.shape.window = 70;
  expect_case(of);
  of.sequences = ragged_chunks({3, 530});
  of.shape.head_dim = 128;
  of.shape.window = 300;
  expect_case(of);
}

TEST_P(PrefillTest, CausalAttentionOfEveryHeadWidth) {
  for (const KvType type : kTypes) {
    for (const int head_dim : {64, 80, 96, 128, 256, 8, 33, 72, 250}) {
      PrefillCase of{.sequences = ragged_chunks({3, 40})};
      of.shape.type = type;
      of.shape.q_heads = of.shape.kv_heads = 1;
      of.shape.head_dim = head_dim;
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << ", " << head_dim);
      expect_case(of);
    }
  }
}

TEST_P(PrefillTest, CausalAttentionOfEveryGroupSize) {
  for (const auto& [q_heads, kv_heads] : {std::pair{1, 1}, {3, 3}, {6, 2}, {8, 1}, {71, 1}}) {
    PrefillCase of{.sequences = ragged_chunks({1, 9, 20})};
    of.shape.q_heads = q_heads;
    of.shape.kv_heads = kv_heads;
    SCOPED_TRACE(testing::Message() << q_heads << " over " << kv_heads);
    expect_case(of);
  }
}

TEST_P(PrefillTest, CausalAttentionSeesOnlyItsWindow) {
  for (const KvType type : {KvType::kF16, KvType::kI8}) {
    for (const int window : {1, 7, 64, 65, 1000}) {
      PrefillCase of{.sequences = ragged_chunks({1, 90})};
      of.shape.type = type;
      of.shape.q_heads = of.shape.kv_heads;
      of.shape.window = window;
      SCOPED_TRACE(window);
      expect_case(of);
    }
  }
}

TEST_P(PrefillTest, CausalAttentionCapsScores) {
  for (const float cap : {0.5f, 5.0f, 50.0f, 1e6f}) {
    PrefillCase of{.softcap = cap, .sequences = ragged_chunks({30})};
    SCOPED_TRACE(cap);
    expect_case(of);
    of.shape.window = 9;
    expect_case(of);
  }
}

TEST_P(PrefillTest, CausalAttentionLeavesUnroundedRowsAsTheyAre) {
  for (const int head_dim : {64, 80, 256, 31}) {
    PrefillCase of{.sequences = ragged_chunks({5, 70})};
    of.shape.unrounded = true;
    of.shape.head_dim = head_dim;
    of.shape.q_heads = of.shape.kv_heads;
    SCOPED_TRACE(head_dim);
    expect_case(of);
  }
}

TEST_P(PrefillTest, CausalAttentionOfLargeAndSmallQueriesKeepsItsAccuracy) {
  for (const float size : {1e-30f, 1e-6f, 1e4f, 1e30f}) {
    PrefillCase of{.q_size = size, .k_size = 1.0f / size, .sequences = ragged_chunks({20})};
    of.shape.type = KvType::kBF16;
    SCOPED_TRACE(size);
    expect_case(of);
    of.k_size = size < 1e4f ? 1.0f : 1e-4f;
    of.q_size = size < 1e5f ? size : 1e4f;
    of.shape.type = KvType::kF16;
    expect_case(of);
  }
}

TEST_P(PrefillTest, CausalAttentionMayRoundQueriesAndProbabilities) {
  for (const KvType type : {KvType::kF16, KvType::kBF16}) {
    PrefillCase of{.sequences = ragged_chunks({9, 40})};
    of.shape.type = type;
    of.shape.exact = false;
    expect_case(of);
  }
}

// The bytes of the answers of a sequence.
std::vector<unsigned char> bytes_of_rows(const PrefillCase& of, const PrefillAnswer& answer,
                                         const PrefillSequence& sequence) {
  const auto heads = static_cast<std::size_t>(of.shape.q_heads);
  const std::size_t width = heads * static_cast<std::size_t>(of.shape.head_dim);
  const auto begin = static_cast<std::size_t>(sequence.q_begin);
  const auto num = static_cast<std::size_t>(sequence.num_q);
  std::vector<unsigned char> bytes(num * (width + heads) * sizeof(float));
  std::memcpy(bytes.data(), answer.o.data() + begin * width, num * width * sizeof(float));
  std::memcpy(bytes.data() + num * width * sizeof(float), answer.lse.data() + begin * heads,
              num * heads * sizeof(float));
  return bytes;
}

TEST_P(PrefillTest, CausalAttentionOfAChunkIsBitwiseTheSameWhateverSharesTheCall) {
  for (const KvType type : kTypes) {
    PrefillCase of{.sequences = ragged_chunks({66, 40, 5})};
    of.shape.type = type;
    const PrefillRows rows = random_rows(of, 4);
    const PrefillAnswer together = run_causal(of, rows);
    for (std::size_t i = 0; i < 3; ++i) {
      PrefillCase alone = of;
      alone.sequences = {of.sequences[i]};
      alone.max_sequences = 5;  // idle tiles and places
      alone.max_rows = 300;
      EXPECT_EQ(bytes_of_rows(of, run_causal(alone, rows), of.sequences[i]),
                bytes_of_rows(of, together, of.sequences[i]));
    }
  }
}

// Whether each head of each row of a lone chunk holds a NaN.
std::vector<bool> heads_with_nan(const PrefillCase& of, const PrefillAnswer& answer) {
  const auto dim = static_cast<std::size_t>(of.shape.head_dim);
  const PrefillSequence& chunk = of.sequences.front();
  std::vector<bool> has;
  const auto heads = static_cast<std::size_t>(of.shape.q_heads);
  for (std::size_t i = 0; i < static_cast<std::size_t>(chunk.num_q) * heads; ++i) {
    const std::size_t head = static_cast<std::size_t>(chunk.q_begin) * heads + i;
    bool any = false;
    for (std::size_t d = 0; d < dim; ++d) any = any || std::isnan(answer.o[head * dim + d]);
    has.push_back(any);
  }
  return has;
}

TEST_P(PrefillTest, CausalAttentionKeepsNaNToTheRowsAndHeadsThatSeeIt) {
  for (const bool unrounded : {false, true}) {
    for (const KvType type : kTypes) {
      for (const int in : {0, 1, 2}) {  // q, k, v
        for (const int window : {0, 5}) {
          PrefillCase of{.sequences = ragged_chunks({37})};
          of.shape.type = type;
          of.shape.unrounded = unrounded;
          of.shape.window = window;
          PrefillRows rows = random_rows(of, 5);
          constexpr std::size_t kRow = 20;  // of the chunk
          const std::size_t heads = in == 0 ? 4 : 2;
          std::vector<float>& poisoned = in == 0 ? rows.q : in == 1 ? rows.k : rows.v;
          poisoned[((1 + kRow) * heads + 1) * 64 + 13] = kNaN;
          const PrefillAnswer answer = run_causal(of, rows);
          const std::vector<bool> has = heads_with_nan(of, answer);
          for (std::size_t row = 0; row < 37; ++row) {
            for (std::size_t head = 0; head < 4; ++head) {
              const bool sees = row >= kRow && (window == 0 || row < kRow + 5);
              const bool want = in == 0 ? row == kRow && head == 1 : sees && head / 2 == 1;
              ASSERT_EQ(has[row * 4 + head], want) << static_cast<int>(type) << ", in " << in
                                                   << ", row " << row << ", head " << head;
            }
          }
        }
      }
      if (unrounded) break;
    }
  }
}

TEST_P(KernelTest, HopperBucketsAreOfTheGenericPathWhereHopperTakesNoSuchShape) {
  PrefillShape shape{.q_heads = 4, .kv_heads = 2, .head_dim = 128, .path = KernelPath::kHopper};
  const auto path = [&] { return make_prefill_bucket(shape, 3, 40).shape.path; };
  EXPECT_EQ(path(), KernelPath::kHopper);
  for (const int head_dim : {64, 128, 40, 100}) {
    shape.head_dim = head_dim;
    EXPECT_EQ(path(), KernelPath::kHopper) << head_dim;
  }
  for (const int head_dim : {80, 96, 129, 256}) {
    shape.head_dim = head_dim;
    EXPECT_EQ(path(), KernelPath::kGeneric) << head_dim;
    EXPECT_GT(make_prefill_bucket(shape, 3, 40).num_tiles, 0) << head_dim;
  }
  shape.head_dim = 128;
  shape.block_bytes = 163 * 1024;
  EXPECT_EQ(path(), KernelPath::kGeneric);
  shape.block_bytes = 227 * 1024;
  EXPECT_EQ(path(), KernelPath::kHopper);
  shape.unrounded = true;
  EXPECT_EQ(path(), KernelPath::kGeneric);
  shape.unrounded = false;
  shape.type = KvType::kI8;
  EXPECT_EQ(path(), KernelPath::kGeneric);
}

TEST_P(KernelTest, PrefillRefusesShapesOutsideTheStatedOnes) {
  const PrefillShape good{.q_heads = 4, .kv_heads = 2, .head_dim = 64};
  EXPECT_GT(make_prefill_bucket(good, 1, 1).num_tiles, 0);
  const auto refused = [&](auto change) {
    PrefillShape shape = good;
    change(shape);
    const PrefillBucket bucket = make_prefill_bucket(shape, 1, 1);
    return bucket.num_tiles == 0 &&
           causal_attention(bucket, {}, nullptr) == cudaErrorInvalidValue &&
           paged_attention(bucket, {}, nullptr) == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(refused([](PrefillShape& shape) { shape.q_heads = 3; }));
  EXPECT_TRUE(refused([](PrefillShape& shape) { shape.kv_heads = 0; }));
  EXPECT_TRUE(refused([](PrefillShape& shape) { shape.head_dim = 257; }));
  EXPECT_TRUE(refused([](PrefillShape& shape) { shape.window = -1; }));
  EXPECT_TRUE(refused([](PrefillShape& shape) { shape.page_tokens = 24; }));
  EXPECT_TRUE(refused([](PrefillShape& shape) { shape.type = KvType::kI8, shape.exact = false; }));
  EXPECT_TRUE(refused([](PrefillShape& shape) { shape.page_tokens = 16, shape.window = 3; }));
  const PrefillBucket causal = make_prefill_bucket(good, 1, 8);
  EXPECT_EQ(paged_attention(causal, {}, nullptr), cudaErrorInvalidValue);
  std::vector<std::byte> plan(causal.plan_bytes);
  const PrefillSequence fits{.num_q = 8}, long_one{.num_q = 9};
  EXPECT_TRUE(plan_prefill(causal, {&fits, 1}, plan));
  EXPECT_FALSE(plan_prefill(causal, {&long_one, 1}, plan));
  EXPECT_FALSE(plan_prefill(causal, {&fits, 1}, std::span(plan).first(plan.size() - 1)));
}

}  // namespace
}  // namespace tandem::gpu_kernels
