// SPDX-License-Identifier: Apache-2.0
//
// The op cases of attention: one struct per shape, run on every device of the registry.
//
// Each fills a ragged batch of sequences in steps, appends one more token to each together with its
// queries, and compares every layer with the reference: NMSE 1e-6 on rows rounded as pages store
// them; on unrounded rows 1e-6 for f16, 1e-4 for bf16, 1e-3 for i8 and 1e-2 for float8.
#include <ostream>

#include "drivers/device/attention_unit_fixture.h"

namespace tandem::device_test {
namespace {

double unrounded_bound(DType dtype) {
  return dtype == DType::kF8E4M3 ? 1e-2
         : dtype == DType::kI8   ? 1e-3
         : dtype == DType::kBF16 ? 1e-4
                                 : 1e-6;
}

// One op case: a geometry and a ragged batch over it.
struct OpCase {
  const char* name;
  AttentionGeometry geometry;
  std::vector<std::int32_t> tokens;  // of each sequence, the last one appended with the attend
  std::int32_t num_q = 1;
};

void PrintTo(const OpCase& op, std::ostream* out) { *out << op.name; }

std::vector<OpCase> op_cases() {
  const auto geometry = [](int q_heads, int kv_heads, int head_dim, int page_tokens, DType dtype) {
    return AttentionGeometry{2, q_heads, kv_heads, head_dim, page_tokens, dtype};
  };
  constexpr DType kF16 = DType::kF16, kBF16 = DType::kBF16, kI8 = DType::kI8, kF8 = DType::kF8E4M3;
  return {
      {"group of 1, head_dim 8", geometry(3, 3, 8, 16, kF16), {1, 15, 16, 17, 40}},
      {"group of 1, i8", geometry(4, 4, 64, 16, kI8), {1, 16, 33, 100}},
      {"group of 2, head_dim 24", geometry(4, 2, 24, 16, kF16), {2, 31, 32, 33}},
      {"group of 2, head_dim 24, i8", geometry(4, 2, 24, 16, kI8), {2, 31, 32, 33}},
      {"group of 4, head_dim 64, bf16", geometry(8, 2, 64, 16, kBF16), {5, 64, 127, 200}},
      {"group of 4, head_dim 64, f8", geometry(8, 2, 64, 16, kF8), {5, 64, 127, 200}},
      {"chunks of queries, bf16", geometry(4, 2, 96, 16, kBF16), {20, 90, 1}, 9},
      {"chunks of queries, f8", geometry(4, 1, 80, 32, kF8), {20, 90, 1}, 9},
      {"group of 4, head_dim 32", geometry(8, 2, 32, 16, kF16), {5, 64, 127, 200}},
      {"group of 4, head_dim 128", geometry(32, 8, 128, 16, kF16), {7, 48, 129}},
      {"group of 4, head_dim 128, i8", geometry(32, 8, 128, 16, kI8), {7, 48, 129}},
      {"group of 8, head_dim 64", geometry(8, 1, 64, 16, kF16), {3, 90, 256}},
      {"group of 8, head_dim 256", geometry(8, 1, 256, 16, kF16), {1, 50}},
      {"group of 8, head_dim 256, i8", geometry(8, 1, 256, 16, kI8), {1, 50}},
      {"group of 12, head_dim 64", geometry(12, 1, 64, 16, kF16), {17, 70}},
      {"head_dim 1", geometry(2, 2, 1, 16, kF16), {4, 20}},
      {"head_dim 100", geometry(4, 2, 100, 16, kI8), {4, 20, 65}},
      {"pages of 1 token", geometry(4, 2, 32, 1, kF16), {1, 9, 23}},
      {"pages of 4 tokens", geometry(4, 2, 32, 4, kI8), {1, 9, 23}},
      {"pages of 64 tokens", geometry(4, 2, 64, 64, kF16), {63, 64, 65, 300}},
      {"pages of 256 tokens", geometry(4, 2, 64, 256, kF16), {10, 256, 700}},
      {"one long sequence", geometry(4, 1, 64, 16, kF16), {5000}},
      {"long beside short", geometry(8, 2, 64, 16, kI8), {3, 3000, 1, 40}},
      {"chunks of queries", geometry(8, 2, 64, 16, kF16), {20, 90, 1}, 9},
      {"chunks of queries, group of 1", geometry(2, 2, 32, 16, kF16), {600, 33}, 21},
      {"chunks of queries, long, i8", geometry(4, 1, 128, 16, kI8), {2100}, 5},
  };
}

class AttentionOpTest : public AttentionUnitTestBase,
                        public ::testing::WithParamInterface<std::tuple<std::string, OpCase>> {
 protected:
  std::string device_id() const override { return std::get<0>(GetParam()); }
};

TEST_P(AttentionOpTest, AnswersARaggedBatchAsTheReferenceDoes) {
  const OpCase& op = std::get<1>(GetParam());
  std::uint32_t num_pages = 3;
  for (const std::int32_t tokens : op.tokens) {
    num_pages += (tokens + op.geometry.page_tokens - 1) / op.geometry.page_tokens;
  }
  const auto unit = make_unit(op.geometry, num_pages);
  if (!unit) GTEST_SKIP() << refusal_;
  PageDeck deck(unit->capacity().num_pages, random_);
  std::vector<SequenceModel> sequences;
  for (const std::int32_t tokens : op.tokens) {
    sequences.emplace_back(op.geometry, deck.take_for(op.geometry, tokens));
    fill(*unit, sequences.back(), tokens - 1, 128, random_);
  }
  for (int layer = 0; layer < op.geometry.num_layers; ++layer) {
    ScenarioBatch batch(op.geometry, layer, random_);
    for (SequenceModel& sequence : sequences) {
      batch.add(sequence, {.num_q = op.num_q, .num_new = 1});
    }
    ASSERT_EQ(wait(*unit, batch.submit(*unit)), WaitResult::kDone);
    batch.expect_reference(kBound);
    batch.expect_unrounded(unrounded_bound(op.geometry.kv_dtype));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, AttentionOpTest,
                         ::testing::Combine(::testing::ValuesIn(device_ids()),
                                            ::testing::ValuesIn(op_cases())),
                         [](const auto& info) {
                           return case_name(std::get<0>(info.param) + "_" +
                                            std::get<1>(info.param).name);
                         });

}  // namespace
}  // namespace tandem::device_test
