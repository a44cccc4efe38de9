// SPDX-License-Identifier: Apache-2.0
//
// The CPU attention unit against the double-precision reference, for every instruction set: head
// sizes, groups, page sizes, KV types, ragged batches, long contexts, splits, page images.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "common/error.h"
#include "paged_attention_fixture.h"

namespace tandem::device {
namespace {

class CpuAttention : public PagedAttention {};

TEST_P(CpuAttention, AnswersEveryHeadSizeAndType) {
  for (const DType dtype : kTypes) {
    for (const int dim : {1, 8, 24, 32, 64, 80, 128, 200, 256}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " head_dim " + std::to_string(dim));
      make({.num_layers = 1, .q_heads = 4, .kv_heads = 2, .head_dim = dim, .kv_dtype = dtype});
      expect_history(37, 1);
    }
  }
}

TEST_P(CpuAttention, AnswersEveryGroupAndNumberOfQueries) {
  for (const int group : {1, 2, 3, 4, 7, 8, 16}) {
    for (const int num_q : {1, 2, 5, 33}) {
      SCOPED_TRACE("group " + std::to_string(group) + ", queries " + std::to_string(num_q));
      make({.num_layers = 1, .q_heads = 2 * group, .kv_heads = 2, .head_dim = 32});
      expect_history(83, num_q);
    }
  }
}

TEST_P(CpuAttention, AnswersEveryContextLengthAroundATile) {
  make({.num_layers = 1, .q_heads = 4, .kv_heads = 1, .head_dim = 24, .kv_dtype = DType::kI8});
  for (const int tokens : {1, 2, 15, 16, 17, 31, 63, 64, 65, 127, 129}) {
    SCOPED_TRACE(tokens);
    expect_history(tokens, 1);
  }
}

TEST_P(CpuAttention, HoldsPagesOfAnyPowerOfTwo) {
  for (const DType dtype : kTypes) {
    for (const int page_tokens : {1, 4, 8, 16, 64}) {
      SCOPED_TRACE(page_tokens);
      make({1, 4, 2, 24, page_tokens, dtype});
      expect_history(75, 2);
    }
  }
}

TEST_P(CpuAttention, CutsALongContextByTokensWithoutATrace) {
  make({.num_layers = 1, .q_heads = 4, .kv_heads = 1, .head_dim = 64});
  expect_history(3001, 1);
  make({.num_layers = 1, .q_heads = 4, .kv_heads = 1, .head_dim = 64, .kv_dtype = DType::kI8});
  expect_history(3001, 20);
}

TEST_P(CpuAttention, AnswersARaggedBatch) {
  make({.num_layers = 2, .q_heads = 8, .kv_heads = 4, .head_dim = 8});
  std::vector<History> histories;
  for (const int tokens : {5, 700, 16, 1, 130}) histories.push_back(make_history(tokens));
  std::vector<Ask> asks;
  for (const History& h : histories) asks.push_back({&h, 0, h.tokens, 1});
  asks[2].num_q = 3;
  asks[3].num_q = 0;  // appends only
  const auto q = randoms(6 * q_width());
  const Answer answer = submit(asks, q, 0.3f, 1);
  expect_row(answer, 0, q, histories[0], 5, 0.3f);
  expect_row(answer, 1, q, histories[1], 700, 0.3f);
  for (std::size_t row = 2; row < 5; ++row) expect_row(answer, row, q, histories[2], 16, 0.3f);
  expect_row(answer, 5, q, histories[4], 130, 0.3f);
}

TEST_P(CpuAttention, GrowsTokenByTokenInEveryLayer) {
  make({.num_layers = 3, .q_heads = 4, .kv_heads = 2, .head_dim = 24});
  const History h = make_history(35);
  for (int token = 0; token < 35; ++token) {
    const int layer = 2;
    const auto q = randoms(q_width());
    const Ask ask{&h, token, token + 1, 1};
    expect_row(submit({&ask, 1}, q, 0.5f, layer), 0, q, h, token + 1, 0.5f);
  }
}

TEST_P(CpuAttention, SeesOnlyTheTokensAskedFor) {
  make({.num_layers = 1, .q_heads = 4, .kv_heads = 2, .head_dim = 32});
  const History h = make_history(90);
  const Ask fill{&h, 0, 90, 0};
  submit({&fill, 1}, {}, 1.0f);
  for (const int tokens : {1, 16, 50, 89}) {
    const auto q = randoms(q_width());
    const Ask ask{&h, 90, 90, 1, tokens};
    expect_row(submit({&ask, 1}, q, 0.2f), 0, q, h, tokens, 0.2f);
  }
}

TEST_P(CpuAttention, NothingToAttendGivesZeroAndMinusInfinity) {
  make({.num_layers = 1, .q_heads = 4, .kv_heads = 2, .head_dim = 24});
  const History none;
  const Ask ask{&none, 0, 0, 2};
  const Answer answer = submit({&ask, 1}, randoms(2 * q_width()), 1.0f);
  EXPECT_THAT(answer.o, testing::Each(0.0f));
  EXPECT_THAT(answer.lse, testing::Each(-std::numeric_limits<float>::infinity()));
}

TEST_P(CpuAttention, LeavesRowsOfNoSequenceAlone) {
  make({.num_layers = 1, .q_heads = 2, .kv_heads = 2, .head_dim = 8});
  const History h = make_history(4);
  const Ask ask{&h, 0, 4, 1};
  const auto q = randoms(3 * q_width());
  const Answer answer = submit({&ask, 1}, q, 1.0f);
  expect_row(answer, 0, q, h, 4, 1.0f);
  for (std::size_t i = q_width(); i < answer.o.size(); ++i) EXPECT_EQ(answer.o[i], 77.0f);
  for (std::size_t i = 2; i < answer.lse.size(); ++i) EXPECT_EQ(answer.lse[i], 77.0f);
}

TEST_P(CpuAttention, KeepsNanInItsHead) {
  for (const DType dtype : kTypes) {
    make({.num_layers = 1, .q_heads = 4, .kv_heads = 2, .head_dim = 24, .kv_dtype = dtype});
    History h = make_history(40);
    h.k[(17 * 2 + 1) * 24 + 3] = kNan;  // token 17, KV head 1: query heads 2 and 3
    auto q = randoms(q_width());
    q[5] = kNan;  // query head 0
    const Ask ask{&h, 0, 40, 1};
    const Answer answer = submit({&ask, 1}, q, 0.2f);
    for (std::size_t head = 0; head < 4; ++head) {
      const bool poisoned = head != 1;
      EXPECT_EQ(std::isnan(answer.lse[head]), poisoned) << head;
      for (std::size_t d = 0; d < 24; ++d) {
        EXPECT_EQ(std::isnan(answer.o[head * 24 + d]), poisoned) << head << " " << d;
      }
    }
  }
}

TEST_P(CpuAttention, IgnoresWhatAnEarlierOwnerLeftInAPage) {
  make({.num_layers = 1, .q_heads = 2, .kv_heads = 1, .head_dim = 16});
  History dirty = make_history(16);
  for (float& x : dirty.k) x = kNan;
  for (float& x : dirty.v) x = kNan;
  const Ask fill{&dirty, 0, 16, 0};
  submit({&fill, 1}, {}, 1.0f);
  History h = make_history(9);
  h.pages = dirty.pages;
  const auto q = randoms(q_width());
  const Ask ask{&h, 0, 9, 1};
  expect_row(submit({&ask, 1}, q, 0.25f), 0, q, h, 9, 0.25f);
}

TEST_P(CpuAttention, LargeScoresDoNotOverflow) {
  make({.num_layers = 1, .q_heads = 2, .kv_heads = 1, .head_dim = 16});
  const History h = make_history(100);
  auto q = randoms(q_width(), 300.0f);
  const Ask ask{&h, 0, 100, 1};
  const Answer answer = submit({&ask, 1}, q, 1.0f);
  for (const float x : answer.o) EXPECT_TRUE(std::isfinite(x));
  const auto want = reference::reference_attention(geometry_, 1.0, q, h.k_kept, h.v_kept, 100);
  EXPECT_LT(reference::nmse<double>(answer.o, want.o), 1e-6);  // scores of 1e3 have 1e-4 of error
}

TEST_P(CpuAttention, PartialsOfTwoUnitsMergeToTheWhole) {
  make({.num_layers = 1, .q_heads = 4, .kv_heads = 2, .head_dim = 32});
  const History whole = make_history(96);
  const std::size_t width = 2 * 32;
  const auto part = [&](int begin, int end) {
    History h = make_history(end - begin);
    h.k.assign(whole.k.begin() + begin * width, whole.k.begin() + end * width);
    h.v.assign(whole.v.begin() + begin * width, whole.v.begin() + end * width);
    return h;
  };
  const auto q = randoms(q_width());
  std::vector<reference::AttentionAnswer> partials;
  for (const auto& [begin, end] : {std::pair{0, 32}, std::pair{32, 80}, std::pair{80, 96}}) {
    const History h = part(begin, end);
    const Ask ask{&h, 0, end - begin, 1};
    const Answer answer = submit({&ask, 1}, q, 0.18f);
    partials.push_back(
        {{answer.o.begin(), answer.o.end()}, {answer.lse.begin(), answer.lse.end()}});
  }
  const auto merged = reference::merge_answers(partials);
  const auto want =
      reference::reference_attention(geometry_, 0.18, q, whole.k_kept, whole.v_kept, 96);
  const std::vector<float> o(merged.o.begin(), merged.o.end());
  EXPECT_LT(reference::nmse<double>(o, want.o), kTolerance);
}

TEST_P(CpuAttention, ARowDoesNotDependOnItsBatch) {
  make({.num_layers = 1, .q_heads = 8, .kv_heads = 2, .head_dim = 64});
  const History h = make_history(300), other = make_history(1000);
  const auto q = randoms(2 * q_width());
  const Ask both[] = {{&h, 0, 300, 1}, {&other, 0, 1000, 1}};
  const Answer together = submit(both, q, 0.125f);
  const Answer alone = submit({both, 1}, std::span(q).first(q_width()), 0.125f);
  const std::span<const float> first(together.o.data(), q_width());
  EXPECT_LT(reference::nmse<float>(first, alone.o), 1e-12);
}

TEST_P(CpuAttention, MovesAPageThroughItsImage) {
  for (const DType dtype : kTypes) {
    for (const int page_tokens : {4, 16, 32}) {
      make({2, 4, 2, 24, page_tokens, dtype});
      const int tokens = page_tokens;
      History h = make_history(tokens);
      const Ask fill[] = {{&h, 0, tokens, 0}};
      submit(fill, {}, 1.0f, 0);
      submit(fill, {}, 1.0f, 1);
      std::vector<std::byte> image(page_image_bytes(geometry_));
      ASSERT_EQ(unit_->export_page(h.pages[0], image, Deadline::never()), WaitResult::kDone);
      const PageId moved = 100;
      ASSERT_EQ(unit_->import_page(moved, image, Deadline::never()), WaitResult::kDone);
      h.pages[0] = moved;
      const auto q = randoms(q_width());
      const Ask ask{&h, tokens, tokens, 1};
      for (const int layer : {0, 1}) {
        expect_row(submit({&ask, 1}, q, 0.2f, layer), 0, q, h, tokens, 0.2f);
      }
    }
  }
}

TEST_P(CpuAttention, WritesTheImageInTheStatedLayout) {
  make({.num_layers = 1, .q_heads = 2, .kv_heads = 2, .head_dim = 8, .page_tokens = 4});
  const History h = make_history(4);
  const Ask fill{&h, 0, 4, 0};
  submit({&fill, 1}, {}, 1.0f);
  std::vector<std::byte> image(page_image_bytes(geometry_));
  unit_->export_page(h.pages[0], image, Deadline::never());
  const auto* values = reinterpret_cast<const std::uint16_t*>(image.data());
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t token = 0; token < 4; ++token) {
      for (std::size_t d = 0; d < 8; ++d) {
        const std::size_t from = (token * 2 + head) * 8 + d;
        EXPECT_EQ(f16_to_f32(values[(head * 4 + token) * 8 + d]), h.k_kept[from]);
        EXPECT_EQ(f16_to_f32(values[((2 + head) * 4 + token) * 8 + d]), h.v_kept[from]);
      }
    }
  }
}

INSTANTIATE_ON_EVERY_TARGET(CpuAttention);

class CpuAttentionUnit : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = cpu_backend().open(0, {.num_threads = 1});
  AttentionUnitOptions options_{
      .geometry = {.num_layers = 2, .q_heads = 4, .kv_heads = 2, .head_dim = 64}};
};

TEST_F(CpuAttentionUnit, MakesAsManyPagesAsTheMemoryHolds) {
  options_.kv_bytes = 1000 * 1000;
  const auto unit = device_->make_attention_unit(options_);
  const AttentionCapacity capacity = unit->capacity();
  EXPECT_EQ(capacity.page_bytes, 2u * 2 * 2 * 16 * 64 * 2);  // layers, k and v, heads, tokens, dim
  EXPECT_EQ(capacity.num_pages, 1000 * 1000 / capacity.page_bytes);
  EXPECT_GT(capacity.read_bandwidth_bytes_per_s, 0);
  options_.max_pages = 3;
  EXPECT_EQ(device_->make_attention_unit(options_)->capacity().num_pages, 3u);
}

TEST_F(CpuAttentionUnit, RefusesMemoryForLessThanAPage) {
  options_.kv_bytes = 100;
  EXPECT_THROW(device_->make_attention_unit(options_), Error);
}

TEST_F(CpuAttentionUnit, RefusesAPageThatIsNotThere) {
  options_.max_pages = 4;
  const auto unit = device_->make_attention_unit(options_);
  std::vector<std::byte> image(page_image_bytes(options_.geometry));
  EXPECT_THROW(unit->export_page(4, image, Deadline::never()), Error);
  EXPECT_THROW(unit->import_page(0, std::span(image).first(8), Deadline::never()), Error);
  const AttentionSequence s{.num_q = 1, .num_attend = 1, .num_pages = 1};
  const PageId page = 4;
  std::vector<float> q(4 * 64), o(4 * 64), lse(4);
  AttentionBatch batch;
  batch.q = q;
  batch.sequences = {&s, 1};
  batch.pages = {&page, 1};
  EXPECT_THROW(unit->submit(batch, {o, lse}), Error);
}

TEST_F(CpuAttentionUnit, CountsWhatItDid) {
  options_.max_pages = 4;
  const auto unit = device_->make_attention_unit(options_);
  const AttentionSequence s{.num_q = 1, .num_new = 20, .num_attend = 20, .num_pages = 2};
  const PageId pages[] = {0, 1};
  std::vector<float> q(4 * 64), o(4 * 64), lse(4), kv(20 * 2 * 64);
  AttentionBatch batch;
  batch.q = q;
  batch.k = batch.v = kv;
  batch.sequences = {&s, 1};
  batch.pages = pages;
  unit->submit(batch, {o, lse});
  const AttentionStats stats = unit->stats();
  EXPECT_EQ(stats.launches, 1u);
  EXPECT_EQ(stats.kv_bytes_read, 2u * 2 * 2 * 16 * 64 * 2);  // pages, heads, k and v, tokens, dim
  EXPECT_EQ(stats.bytes_to_unit, 0u);
  EXPECT_EQ(stats.bytes_from_unit, 4u * (64 + 1) * sizeof(float));
}

TEST_F(CpuAttentionUnit, KnowsOnlyTicketsItGave) {
  options_.max_pages = 4;
  const auto unit = device_->make_attention_unit(options_);
  EXPECT_THROW(unit->wait(1, Deadline::never()), Error);
}

}  // namespace
}  // namespace tandem::device
