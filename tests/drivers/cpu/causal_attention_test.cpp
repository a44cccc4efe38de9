// SPDX-License-Identifier: Apache-2.0
//
// Causal attention with windows, soft caps and every KV type against the double-precision
// reference, for every instruction set.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "common/error.h"
#include "compute_fixture.h"
#include "support/reference/attention.h"
#include "support/reference/compare.h"

namespace tandem::device {
namespace {

constexpr float kCausalNan = std::numeric_limits<float>::quiet_NaN();

struct Rules {
  DType kv_dtype = DType::kF16;
  int window = 0;
  float softcap = 0;
};

class CpuCausal : public ComputeFixture {
 protected:
  // q, k and v of a chunk at rows [begin, begin + count).
  struct Rows {
    int q_heads, kv_heads, dim, begin, count;
    std::vector<float> q, k, v;
  };
  Rows make_rows(int q_heads, int kv_heads, int dim, int begin, int count) {
    const std::size_t rows = begin + count;
    return {q_heads,
            kv_heads,
            dim,
            begin,
            count,
            randoms(rows * q_heads * dim),
            randoms(rows * kv_heads * dim),
            randoms(rows * kv_heads * dim)};
  }

  struct Answer {
    std::vector<float> o, lse;
  };
  Answer attend(const Rows& rows, const Rules& rules) {
    const CausalChunk chunk{rows.begin, rows.count};
    CausalAttentionOp op;
    op.chunks = {&chunk, 1};
    op.q_heads = rows.q_heads;
    op.kv_heads = rows.kv_heads;
    op.head_dim = rows.dim;
    op.scale = kScale;
    op.kv_dtype = rules.kv_dtype;
    op.window = rules.window;
    op.softcap = rules.softcap;
    op.q = put(rows.q);
    op.k = put(rows.k);
    op.v = put(rows.v);
    const std::size_t heads = static_cast<std::size_t>(rows.begin + rows.count) * rows.q_heads;
    op.o = room(rows.q.size());
    op.lse = room(heads);
    unit_->enqueue(op);
    return {get(op.o, rows.q.size()), get(op.lse, heads)};
  }

  void expect_reference(const Rows& rows, const Rules& rules) {
    const Answer answer = attend(rows, rules);
    AttentionGeometry g;
    g.q_heads = rows.q_heads;
    g.kv_heads = rows.kv_heads;
    g.head_dim = rows.dim;
    const std::size_t q_row = rows.q_heads * rows.dim, kv_row = rows.kv_heads * rows.dim;
    std::vector<float> k(rows.k.begin() + rows.begin * kv_row, rows.k.end());
    std::vector<float> v(rows.v.begin() + rows.begin * kv_row, rows.v.end());
    reference::round_kv(rules.kv_dtype, rows.dim, k);
    reference::round_kv(rules.kv_dtype, rows.dim, v);
    for (int i = 0; i < rows.count; ++i) {
      const std::size_t row = rows.begin + i;
      const std::size_t first = rules.window == 0 ? 0 : std::max(0, i + 1 - rules.window);
      const auto want =
          reference::reference_attention(g, kScale, std::span(rows.q).subspan(row * q_row, q_row),
                                         k, v, i + 1, {first, rules.softcap});
      ASSERT_LT(reference::nmse<double>(std::span(answer.o).subspan(row * q_row, q_row), want.o),
                1e-10)
          << "row " << i;
      for (int head = 0; head < rows.q_heads; ++head) {
        ASSERT_NEAR(answer.lse[row * rows.q_heads + head], want.lse[head], 1e-4);
      }
    }
  }

  static constexpr float kScale = 0.3f;
};

TEST_P(CpuCausal, RoundsToEveryTypeOfPages) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kF8E4M3}) {
    SCOPED_TRACE(dtype_name(dtype));
    expect_reference(make_rows(4, 2, 40, 3, 70), {.kv_dtype = dtype});
  }
}

TEST_P(CpuCausal, SeesTheLastRowsOfAWindow) {
  for (const int window : {1, 2, 15, 16, 17, 31, 32, 33, 64, 99, 100, 1000}) {
    SCOPED_TRACE("window " + std::to_string(window));
    expect_reference(make_rows(8, 2, 24, 0, 100), {.window = window});
  }
  for (const int count : {1, 16, 17, 48}) {
    expect_reference(make_rows(2, 2, 64, 5, count), {.window = 16});
  }
}

TEST_P(CpuCausal, CapsScoresSoftly) {
  expect_reference(make_rows(4, 1, 64, 0, 70), {.softcap = 2.0f});
  expect_reference(make_rows(4, 2, 32, 2, 70), {.window = 20, .softcap = 30.0f});
}

// Scores of some 1e-3: small differences between values show wrong weights.
TEST_P(CpuCausal, CapsSmallScoresByNothing) {
  Rows rows = make_rows(2, 1, 16, 0, 40);
  for (float& q : rows.q) q *= 1e-3f;
  const Answer plain = attend(rows, {}), capped = attend(rows, {.softcap = 3000.0f});
  EXPECT_LT(reference::nmse<float>(capped.lse, plain.lse), 1e-13);
  EXPECT_LT(reference::nmse<float>(capped.o, plain.o), 1e-12);
}

TEST_P(CpuCausal, RowsSeeNeitherWhatComesNorWhatTheWindowLeftBehind) {
  Rows rows = make_rows(2, 1, 16, 0, 60);
  for (int d = 0; d < 16; ++d) rows.v[20 * 16 + d] = kCausalNan;
  const Answer answer = attend(rows, {.window = 18});
  for (int row = 0; row < 60; ++row) {
    EXPECT_EQ(std::isnan(answer.o[row * 2 * 16]), row >= 20 && row < 38) << row;
  }
}

TEST_P(CpuCausal, ARowDoesNotDependOnTheRowsBesideIt) {
  const Rows rows = make_rows(8, 2, 64, 0, 100);
  Rows fewer = rows;
  fewer.count = 83;
  fewer.q.resize(83 * 8 * 64);
  fewer.k.resize(83 * 2 * 64);
  fewer.v.resize(83 * 2 * 64);
  for (const int window : {0, 40}) {
    const Answer all = attend(rows, {.window = window}), some = attend(fewer, {.window = window});
    const std::span<const float> same(all.o.data(), some.o.size());
    EXPECT_LT(reference::nmse<float>(same, some.o), 1e-13);
  }
}

TEST_P(CpuCausal, RefusesWhatItDoesNotRound) {
  const Rows rows = make_rows(2, 1, 16, 0, 4);
  EXPECT_THROW(attend(rows, {.kv_dtype = DType::kQ8_0}), Error);
  EXPECT_THROW(attend(rows, {.window = -1}), Error);
  EXPECT_THROW(attend(rows, {.softcap = -1.0f}), Error);
  EXPECT_THROW(attend(rows, {.softcap = std::numeric_limits<float>::infinity()}), Error);
}

INSTANTIATE_ON_EVERY_TARGET(CpuCausal);

}  // namespace
}  // namespace tandem::device
