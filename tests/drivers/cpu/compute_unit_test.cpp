// SPDX-License-Identifier: Apache-2.0
//
// The CPU compute unit against double-precision loops, for every instruction set.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "common/error.h"
#include "compute_fixture.h"
#include "cpu/slices.h"
#include "support/reference/attention.h"
#include "support/reference/compare.h"
#include "support/reference/quantized_rows.h"
#include "support/reference/transformer.h"

namespace tandem::device {
namespace {

using reference::nmse;

class CpuCompute : public ComputeFixture {
 protected:
  void expect_linear(DType dtype, std::int64_t rows, std::int64_t out, std::int64_t in) {
    SCOPED_TRACE(std::string(dtype_name(dtype)) + " rows " + std::to_string(rows) + " out " +
                 std::to_string(out) + " in " + std::to_string(in));
    const Matrix w = matrix(dtype, out, in);
    const auto x = randoms(rows * in);
    const LinearTarget target{w.weight.get(), nullptr, room(rows * out)};
    unit_->enqueue(LinearOp{rows, put(x), {&target, 1}});
    auto taken = x;
    for (float& value : taken) {  // as kernels/float_products/bf16_products.h states
      if (dtype == DType::kBF16) value = bf16_to_f32(f32_to_bf16(value));
    }
    const auto want = reference::linear(taken, w.values, in);
    EXPECT_LT(nmse<double>(get(target.out, rows * out), want), 1e-11);
  }
};

TEST_P(CpuCompute, MultipliesEveryTypeAndNumberOfRows) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int rows : {1, 2, 3, 4, 5, 7, 8, 16, 24, 25, 31, 33, 70}) {
      expect_linear(dtype, rows, 50, 320);
    }
  }
}

TEST_P(CpuCompute, RefusesASliceThatBeginsBeyondItsBuffer) {
  Slice slice = room(4);
  EXPECT_NE(cpu::floats(slice, 4, "x"), nullptr);
  slice.offset_bytes = 20;
  try {
    cpu::floats(slice, 1, "x");
    FAIL() << "the buffer has 16 bytes";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[cpu] x needs 4 bytes from offset 20 on; its buffer has 16");
  }
}

TEST_P(CpuCompute, MultipliesInputsThatAreNoWholeBlock) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int in : {1, 8, 31, 64, 172, 257, 300, 511, 1025}) {
      for (const int rows : {1, 3, 27}) expect_linear(dtype, rows, 13, in);
    }
  }
}

TEST_P(CpuCompute, MultipliesFewOutputs) {
  for (const int out : {1, 2, 3, 4, 5, 15, 16, 17, 47, 48, 49, 63, 64, 65, 97, 128, 190}) {
    for (const int rows : {1, 2, 30}) expect_linear(DType::kBF16, rows, out, 65);
  }
}

TEST_P(CpuCompute, MultipliesMoreRowsThanItPacksAtOnce) {
  expect_linear(DType::kF16, 1100, 20, 36);
}

TEST_P(CpuCompute, MultipliesEnoughToWakeTheTeam) {
  expect_linear(DType::kF16, 1, 1024, 512);
  expect_linear(DType::kF32, 6, 1024, 512);
}

TEST_P(CpuCompute, AddsBiasAndAccumulatesForSeveralTargets) {
  for (const int rows : {1, 9, 40}) {
    const Matrix a = matrix(DType::kF16, 24, 64), b = matrix(DType::kQ8_0, 10, 64);
    const Matrix bias = matrix(DType::kF32, 1, 24);
    const auto x = randoms(rows * 64), before = randoms(rows * 10);
    const LinearTarget targets[] = {{a.weight.get(), bias.weight.get(), room(rows * 24)},
                                    {b.weight.get(), nullptr, put(before), true}};
    unit_->enqueue(LinearOp{rows, put(x), targets});
    auto want_a = reference::linear(x, a.values, 64),
         want_b = reference::linear(reference::quantized_rows(x), b.values, 64);
    for (std::size_t i = 0; i < want_a.size(); ++i) want_a[i] += bias.values[i % 24];
    for (std::size_t i = 0; i < want_b.size(); ++i) want_b[i] += before[i];
    EXPECT_LT(nmse<double>(get(targets[0].out, rows * 24), want_a), 1e-11);
    EXPECT_LT(nmse<double>(get(targets[1].out, rows * 10), want_b), 1e-11);
  }
}

TEST_P(CpuCompute, ARowOfAProductDoesNotDependOnItsBatch) {
  const Matrix w = matrix(DType::kF16, 64, 256);
  const auto x = randoms(40 * 256);
  const auto multiply = [&](std::int64_t rows) {
    const LinearTarget target{w.weight.get(), nullptr, room(rows * 64)};
    unit_->enqueue(LinearOp{rows, put(std::span(x).first(rows * 256)), {&target, 1}});
    return get(target.out, 64);  // the first row
  };
  const auto alone = multiply(1);
  for (const int rows : {2, 4, 7, 16, 24, 25, 40}) {
    EXPECT_LT(nmse<float>(multiply(rows), alone), 1e-12) << rows;
  }
}

TEST_P(CpuCompute, ARowOfABf16ProductIsTheSameBitsInEveryBatch) {
  const Matrix w = matrix(DType::kBF16, 70, 1100);
  const auto x = randoms(40 * 1100);
  const auto multiply = [&](std::int64_t rows) {
    const LinearTarget target{w.weight.get(), nullptr, room(rows * 70)};
    unit_->enqueue(LinearOp{rows, put(std::span(x).last(rows * 1100)), {&target, 1}});
    return get(target.out, rows * 70);
  };
  const auto all = multiply(40);
  for (std::int64_t rows = 1; rows < 40; ++rows) {
    const auto some = multiply(rows);
    EXPECT_EQ(std::memcmp(some.data(), all.data() + (40 - rows) * 70, some.size() * 4), 0) << rows;
  }
}

TEST_P(CpuCompute, KeepsNanInItsRow) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Matrix w = matrix(dtype, 20, 40);
    for (const int rows : {3, 30}) {
      auto x = randoms(rows * 40);
      x[40] = std::numeric_limits<float>::quiet_NaN();
      const LinearTarget target{w.weight.get(), nullptr, room(rows * 20)};
      unit_->enqueue(LinearOp{rows, put(x), {&target, 1}});
      const auto y = get(target.out, rows * 20);
      for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 20 == 1) << i;
    }
  }
}

TEST_P(CpuCompute, WhatRowsLeaveBehindIsInNoLaterProduct) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Matrix w = matrix(dtype, 20, 600);
    const LinearTarget target{w.weight.get(), nullptr, room(7 * 20)};
    unit_->enqueue(LinearOp{7, put(std::vector<float>(7 * 600, nan)), {&target, 1}});
    for (const int in : {1, 255, 257, 599}) expect_linear(dtype, 7, 20, in);
  }
}

TEST_P(CpuCompute, EmbedsRowsOfTheTable) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_0}) {
    const Matrix table = matrix(dtype, 11, 64);
    const std::int32_t ids[] = {3, 0, 10, 3};
    const Slice out = room(4 * 64);
    unit_->enqueue(EmbedOp{table.weight.get(), ids, out});
    const auto got = get(out, 4 * 64);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i], table.values[ids[i / 64] * 64 + i % 64]);
    }
  }
}

TEST_P(CpuCompute, GathersRows) {
  const auto x = randoms(6 * 33);
  const std::int32_t rows[] = {5, 1, 1};
  const Slice out = room(3 * 33);
  unit_->enqueue(GatherRowsOp{rows, 33, put(x), out});
  const auto got = get(out, 3 * 33);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], x[rows[i / 33] * 33 + i % 33]);
}

TEST_P(CpuCompute, AttendsCausallyWithinChunks) {
  struct Case {
    int q_heads, kv_heads, head_dim;
  };
  for (const auto& [q_heads, kv_heads, dim] :
       {Case{8, 4, 8}, Case{4, 1, 64}, Case{2, 2, 24}, Case{6, 2, 128}}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kI8}) {
      SCOPED_TRACE(std::to_string(dim) + " " + std::string(dtype_name(dtype)));
      AttentionGeometry g{
          .num_layers = 1, .q_heads = q_heads, .kv_heads = kv_heads, .head_dim = dim};
      g.kv_dtype = dtype;
      const CausalChunk chunks[] = {{0, 1}, {2, 90}, {92, 16}, {108, 0}};
      const std::size_t rows = 110;  // rows 1, 108 and 109 belong to none
      const auto q = randoms(rows * q_heads * dim), k = randoms(rows * kv_heads * dim),
                 v = randoms(rows * kv_heads * dim);
      auto k_kept = k, v_kept = v;
      reference::round_kv(dtype, dim, k_kept);
      reference::round_kv(dtype, dim, v_kept);
      CausalAttentionOp op{chunks, q_heads, kv_heads, dim, 0.3f, dtype, put(q), put(k), put(v)};
      op.o = put(std::vector<float>(q.size(), 5.0f));
      op.lse = put(std::vector<float>(rows * q_heads, 5.0f));
      unit_->enqueue(op);
      const auto o = get(op.o, q.size()), lse = get(op.lse, rows * q_heads);
      const std::size_t q_row = q_heads * dim, kv_row = kv_heads * dim;
      std::vector<bool> answered(rows);
      for (const auto& [begin, count] : chunks) {
        for (int i = 0; i < count; ++i) {
          const std::size_t row = begin + i;
          answered[row] = true;
          const auto want =
              reference::reference_attention(g, 0.3f, std::span(q).subspan(row * q_row, q_row),
                                             std::span(k_kept).subspan(begin * kv_row),
                                             std::span(v_kept).subspan(begin * kv_row), i + 1);
          ASSERT_LT(nmse<double>(std::span(o).subspan(row * q_row, q_row), want.o), 1e-10) << row;
          for (int head = 0; head < q_heads; ++head) {
            ASSERT_NEAR(lse[row * q_heads + head], want.lse[head], 1e-4);
          }
        }
      }
      for (std::size_t row = 0; row < rows; ++row) {
        if (!answered[row]) {
          EXPECT_EQ(o[row * q_row], 5.0f);
        }
      }
    }
  }
}

TEST_P(CpuCompute, ALaterTokenNeverReachesAnEarlierOne) {
  const int rows = 40, dim = 16;
  auto v = randoms(rows * dim);
  for (int d = 0; d < dim; ++d) v[20 * dim + d] = std::numeric_limits<float>::quiet_NaN();
  const CausalChunk chunk{0, rows};
  CausalAttentionOp op{{&chunk, 1},
                       1,
                       1,
                       dim,
                       0.25f,
                       DType::kF16,
                       put(randoms(rows * dim)),
                       put(randoms(rows * dim)),
                       put(v),
                       room(rows * dim),
                       room(rows)};
  unit_->enqueue(op);
  const auto o = get(op.o, rows * dim);
  for (int row = 0; row < rows; ++row) EXPECT_EQ(std::isnan(o[row * dim]), row >= 20) << row;
}

TEST_P(CpuCompute, MergesPartialsOfAnyRows) {
  const std::size_t rows = 5, heads = 3, dim = 24;
  AttentionGeometry g{.num_layers = 1, .q_heads = 3, .kv_heads = 3, .head_dim = 24};
  const auto q = randoms(rows * heads * dim), k = randoms(30 * heads * dim),
             v = randoms(30 * heads * dim);
  // Row 0: both partials; 1 and 2: one of them; 3: an empty one beside a full one; 4: none.
  const std::int32_t first[] = {0, 1, 3}, second[] = {0, 2, 3};
  std::vector<float> o[2], lse[2];
  std::vector<double> want(rows * heads * dim, 0.0);
  for (auto& part : o) part.assign(rows * heads * dim, 1e9f);
  for (auto& part : lse) part.assign(rows * heads, 50.0f);
  const auto answer = [&](std::size_t row, std::size_t from, std::size_t count) {
    return reference::reference_attention(
        g, 0.2, std::span(q).subspan(row * heads * dim, heads * dim),
        std::span(k).subspan(from * heads * dim), std::span(v).subspan(from * heads * dim), count);
  };
  const auto place = [&](int part, std::size_t row, const reference::AttentionAnswer& a) {
    std::copy(a.o.begin(), a.o.end(), o[part].begin() + row * heads * dim);
    std::copy(a.lse.begin(), a.lse.end(), lse[part].begin() + row * heads);
  };
  for (const std::size_t row : {0u, 1u}) place(0, row, answer(row, 0, 10));
  for (const std::size_t row : {0u, 2u, 3u}) place(1, row, answer(row, 10, 20));
  place(0, 3, answer(3, 0, 0));
  const auto expect = [&](std::size_t row, std::size_t from, std::size_t count) {
    const auto a = answer(row, from, count);
    std::copy(a.o.begin(), a.o.end(), want.begin() + row * heads * dim);
  };
  expect(0, 0, 30);
  expect(1, 0, 10);
  expect(2, 10, 20);
  expect(3, 10, 20);
  const MergePartial partials[] = {{put(o[0]), put(lse[0]), first},
                                   {put(o[1]), put(lse[1]), second}};
  const Slice out = put(std::vector<float>(rows * heads * dim, 9.0f));
  unit_->enqueue(MergeOp{rows, 3, 24, partials, out});
  EXPECT_LT(nmse<double>(get(out, want.size()), want), 1e-11);
}

TEST_P(CpuCompute, RefusesWhatDoesNotFit) {
  const Matrix w = matrix(DType::kF32, 8, 16);
  const Matrix other = matrix(DType::kF32, 8, 12);
  const Slice x = room(16), out = room(8);
  const LinearTarget good{w.weight.get(), nullptr, out};
  EXPECT_THROW(unit_->enqueue(LinearOp{2, x, {&good, 1}}), Error);
  const LinearTarget mixed[] = {good, {other.weight.get(), nullptr, out}};
  EXPECT_THROW(unit_->enqueue(LinearOp{1, x, mixed}), Error);
  const LinearTarget missing{nullptr, nullptr, out};
  EXPECT_THROW(unit_->enqueue(LinearOp{1, x, {&missing, 1}}), Error);
  EXPECT_THROW(unit_->enqueue(LinearOp{1, {}, {&good, 1}}), Error);
  const std::int32_t id = 8;
  EXPECT_THROW(unit_->enqueue(EmbedOp{w.weight.get(), {&id, 1}, x}), Error);
  EXPECT_THROW(unit_->enqueue(RmsNormOp{1, x, x, w.weight.get()}), Error);
  EXPECT_THROW(unit_->load({DType::kQ8_0, 4, 33, w.bytes.data()}), Error);
  EXPECT_THROW(unit_->load({DType::kI8, 4, 32, w.bytes.data()}), Error);
  EXPECT_THROW(unit_->load({DType::kF32, 4, 32, nullptr}), Error);
  constexpr std::int64_t kMany = std::int64_t{1} << 29;  // 18 and 17 TB, more than any machine has
  EXPECT_THROW(unit_->load({DType::kQ8_0, kMany, 32768, w.bytes.data()}), Error);
  EXPECT_THROW(
      unit_->load({DType::kBF16, kMany, 16384, w.bytes.data(), WeightRole::kProduct, true}), Error);
  const std::int32_t row = 5;
  const MergePartial partial{x, out, {&row, 1}};
  EXPECT_THROW(unit_->enqueue(MergeOp{2, 1, 4, {&partial, 1}, out}), Error);
}

TEST_P(CpuCompute, CountsOperationsAndWeightBytes) {
  const Matrix w = matrix(DType::kQ8_0, 8, 64);
  const LinearTarget target{w.weight.get(), nullptr, room(8)};
  unit_->enqueue(LinearOp{1, put(randoms(64)), {&target, 1}});
  EXPECT_EQ(unit_->stats().ops, 1u);
  EXPECT_EQ(unit_->stats().weight_bytes_read, 8u * 2 * 34);
}

INSTANTIATE_ON_EVERY_TARGET(CpuCompute);

TEST(CpuDevice, DescribesItself) {
  const auto devices = cpu_backend().enumerate({.num_threads = 1});
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].id, "cpu");
  EXPECT_FALSE(devices[0].name.empty());
  EXPECT_GT(devices[0].memory_bytes, 0u);
  EXPECT_GT(devices[0].memory_bandwidth_bytes_per_s, 0.0);
  EXPECT_TRUE(devices[0].makes_compute && devices[0].makes_attention);
  EXPECT_THROW(cpu_backend().open(1, {}), Error);
}

}  // namespace
}  // namespace tandem::device
