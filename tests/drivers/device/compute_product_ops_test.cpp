// SPDX-License-Identifier: Apache-2.0
//
// The op cases of products and of attention inside a compute unit, on every device that computes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/error.h"
#include "drivers/device/compute_unit_fixture.h"
#include "support/reference/attention.h"
#include "support/reference/compare.h"
#include "support/reference/transformer.h"

namespace tandem::device_test {
namespace {

using device::LinearOp;
using device::LinearTarget;
using reference::nmse;

class ComputeProductOps : public ComputeUnitTestBase {
 protected:
  static std::vector<float> floats(const std::vector<double>& values) {
    return {values.begin(), values.end()};
  }
};

TEST_P(ComputeProductOps, MultiplyEveryTypeAndNumberOfRows) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0,
                            DType::kQ4_K, DType::kQ6_K}) {
    const Matrix w = matrix(dtype, 50, 256);
    for (const std::int64_t rows : {1, 3, 8, 17, 33}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " rows " + std::to_string(rows));
      const auto x = randoms(static_cast<std::size_t>(rows) * 256);
      const Slice out = room(static_cast<std::size_t>(rows) * 50, MemoryKind::kDevice);
      const LinearTarget target{w.weight.get(), nullptr, out};
      unit_->enqueue(LinearOp{rows, put_on_device(x), {&target, 1}});
      const auto want = reference::linear(x, w.values, 256);
      EXPECT_LT(nmse<double>(get(out, want.size()), want), linear_bound(dtype));
    }
  }
}

TEST_P(ComputeProductOps, MultiplyE4m3WithAScaleForTheWholeEveryRowOrEveryBlock) {
  struct Blocks {
    std::int64_t rows, columns;
  };
  for (const std::int64_t in : {256, 1168, 2176}) {
    for (const Blocks& blocks : {Blocks{150, in}, {1, in}, {128, 128}, {64, 256}, {7, 16}}) {
      const ScaledMatrix scaled = scaled_matrix(150, in, blocks.rows, blocks.columns);
      const ScaledMatrix other = scaled_matrix(20, in, 20, in);
      for (const std::int64_t rows : {1, 3, 8, 17, 33}) {
        SCOPED_TRACE("in " + std::to_string(in) + " block " + std::to_string(blocks.rows) + " x " +
                     std::to_string(blocks.columns) + " rows " + std::to_string(rows));
        const auto x = randoms(static_cast<std::size_t>(rows * in));
        const auto before = randoms(static_cast<std::size_t>(rows) * 20);
        const Slice out = room(static_cast<std::size_t>(rows) * 150, MemoryKind::kDevice);
        const LinearTarget targets[] = {
            {scaled.matrix.weight.get(), nullptr, out},
            {other.matrix.weight.get(), nullptr, put_on_device(before), true}};
        unit_->enqueue(LinearOp{rows, put_on_device(x), targets});
        const auto width = static_cast<std::size_t>(in);
        const auto want = reference::linear(x, scaled.matrix.values, width);
        EXPECT_LT(nmse<double>(get(out, want.size()), want), linear_bound(DType::kF8E4M3));
        auto sums = reference::linear(x, other.matrix.values, width);
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += before[i];
        EXPECT_LT(nmse<double>(get(targets[1].out, sums.size()), sums),
                  linear_bound(DType::kF8E4M3));
      }
    }
  }
}

TEST_P(ComputeProductOps, MultiplyE4m3OfAnyWidth) {
  for (const std::int64_t in : {1, 7, 36, 130}) {
    SCOPED_TRACE(in);
    const ScaledMatrix scaled = scaled_matrix(13, in, 1, in);
    for (const std::int64_t rows : {2, 20}) {
      const auto x = randoms(static_cast<std::size_t>(rows * in));
      const Slice out = room(static_cast<std::size_t>(rows) * 13, MemoryKind::kDevice);
      const LinearTarget target{scaled.matrix.weight.get(), nullptr, out};
      unit_->enqueue(LinearOp{rows, put_on_device(x), {&target, 1}});
      const auto want = reference::linear(x, scaled.matrix.values, static_cast<std::size_t>(in));
      // one product: a row and perhaps a weight rounded to bf16 by 2^-8 at most
      EXPECT_LT(nmse<double>(get(out, want.size()), want), 7e-5);
    }
  }
}

TEST_P(ComputeProductOps, WidenEveryCodeOfE4m3) {
  // 254 codes times the identity, without the two NaN codes.
  std::vector<std::byte> codes;
  for (int code = 0; code < 256; ++code) {
    codes.push_back(std::byte{static_cast<std::uint8_t>((code & 0x7f) == 0x7f ? 0 : code)});
  }
  constexpr std::int64_t kCodes = 256;
  const auto weight = unit_->load(
      {.dtype = DType::kF8E4M3, .out_features = 1, .in_features = kCodes, .data = codes.data()});
  std::vector<float> x(kCodes * kCodes, 0.0f);
  for (std::size_t i = 0; i < kCodes; ++i) x[i * (kCodes + 1)] = 1.0f;
  const LinearTarget target{weight.get(), nullptr, room(kCodes, MemoryKind::kDevice)};
  unit_->enqueue(LinearOp{kCodes, put_on_device(x), {&target, 1}});
  const auto got = get(target.out, kCodes);
  for (std::size_t code = 0; code < kCodes; ++code) {
    EXPECT_EQ(got[code], f8_to_f32(std::to_integer<std::uint8_t>(codes[code]))) << code;
  }
}

TEST_P(ComputeProductOps, MultiplyWidthsThatAreNoMultiplesAndRowsAnywhere) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const std::int64_t in : {1, 7, 36, 130}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " in " + std::to_string(in));
      const Matrix w = matrix(dtype, 13, in);
      const auto x = randoms(4 * static_cast<std::size_t>(in)), before = randoms(4 * 13);
      // From the second row on: an address aligned to 4 bytes only.
      const Slice all = put_on_device(x), out = put_on_device(before);
      const std::size_t row = static_cast<std::size_t>(in) * sizeof(float);
      const LinearTarget target{w.weight.get(), nullptr, {out.buffer, 13 * sizeof(float)}, true};
      unit_->enqueue(LinearOp{3, {all.buffer, row}, {&target, 1}});
      auto want = reference::linear(std::span(x).subspan(static_cast<std::size_t>(in)), w.values,
                                    static_cast<std::size_t>(in));
      for (std::size_t i = 0; i < want.size(); ++i) want[i] += before[13 + i];
      const auto got = get(out, 4 * 13);
      EXPECT_LT(nmse<double>(std::span(got).subspan(13), want), linear_bound(dtype));
      EXPECT_TRUE(std::equal(before.begin(), before.begin() + 13, got.begin()));
    }
  }
}

TEST_P(ComputeProductOps, ShareRowsAmongTargetsWithBiasAndSums) {
  const Matrix a = matrix(DType::kF16, 24, 64), b = matrix(DType::kQ8_0, 10, 64);
  const Matrix c = matrix(DType::kF32, 8, 64), d = matrix(DType::kF16, 16, 64);
  const Matrix e = matrix(DType::kF16, 8, 64), bias = matrix(DType::kF32, 1, 24);
  for (const std::int64_t rows : {1, 9, 40}) {
    const auto count = static_cast<std::size_t>(rows);
    const auto x = randoms(count * 64), before = randoms(count * 10);
    const LinearTarget targets[] = {{a.weight.get(), bias.weight.get(), room(count * 24)},
                                    {b.weight.get(), nullptr, put(before), true},
                                    {c.weight.get(), nullptr, room(count * 8)},
                                    {d.weight.get(), nullptr, room(count * 16)},
                                    {e.weight.get(), nullptr, room(count * 8)}};
    unit_->enqueue(LinearOp{rows, put(x), targets});
    const Matrix* matrices[] = {&a, &b, &c, &d, &e};
    for (std::size_t t = 0; t < 5; ++t) {
      auto want = reference::linear(x, matrices[t]->values, 64);
      const std::size_t out = want.size() / count;
      for (std::size_t i = 0; i < want.size(); ++i) {
        want[i] += t == 0 ? bias.values[i % out] : t == 1 ? before[i] : 0.0f;
      }
      EXPECT_LT(nmse<double>(get(targets[t].out, want.size()), want), t == 1 ? 3e-4 : 1e-6) << t;
    }
  }
}

TEST_P(ComputeProductOps, PrepareTheRowsOfAProduct) {
  constexpr std::int64_t kWidth = 100, kRows = 5;
  std::vector<float> identity(kWidth * kWidth, 0.0f);
  for (std::size_t i = 0; i < kWidth; ++i) identity[i * (kWidth + 1)] = 1.0f;
  const auto weight = unit_->load({.dtype = DType::kF32,
                                   .out_features = kWidth,
                                   .in_features = kWidth,
                                   .data = reinterpret_cast<const std::byte*>(identity.data())});
  const Matrix norm = matrix(DType::kF32, 1, kWidth);
  const auto gate = randoms(kRows * kWidth, 30.0f), up = randoms(kRows * kWidth);
  const LinearTarget target{weight.get(), nullptr, room(kRows * kWidth)};
  LinearOp op{kRows, put(gate), {&target, 1}, norm.weight.get(), 1e-3f};
  unit_->enqueue(op);
  EXPECT_LT(
      nmse<double>(get(target.out, gate.size()), reference::rms_norm(gate, norm.values, 1e-3)),
      1e-11);
  op.norm = nullptr;
  op.up = put_on_device(up);
  unit_->enqueue(op);
  EXPECT_LT(nmse<double>(get(target.out, gate.size()), reference::swiglu(gate, up)), 1e-11);
  op.activation = device::Activation::kGeluTanh;
  unit_->enqueue(op);
  EXPECT_LT(nmse<double>(get(target.out, gate.size()), reference::geglu(gate, up)), 1e-11);
  EXPECT_EQ(get(op.x, gate.size()), gate);
  op.norm = norm.weight.get();
  EXPECT_THROW(unit_->enqueue(op), Error);
}

TEST_P(ComputeProductOps, AnswerByExpertsAsLoopsDo) {
  constexpr std::size_t kExperts = 6, kUsed = 2, kWidth = 32, kFfn = 64;
  std::vector<Matrix> gate, up, down;
  std::vector<device::Expert> experts;
  for (std::size_t i = 0; i < kExperts; ++i) {
    gate.push_back(matrix(DType::kF32, kFfn, kWidth));
    up.push_back(matrix(DType::kF32, kFfn, kWidth));
    down.push_back(matrix(DType::kF32, kWidth, kFfn));
  }
  for (std::size_t i = 0; i < kExperts; ++i) {
    experts.push_back({gate[i].weight.get(), up[i].weight.get(), down[i].weight.get()});
  }
  for (const std::size_t rows : {1u, 7u}) {
    const auto x = randoms(rows * kWidth), router = randoms(rows * kExperts, 3.0f);
    const auto before = randoms(rows * kWidth);
    const Slice out = put_on_device(before);
    unit_->enqueue(device::ExpertsOp{static_cast<std::int64_t>(rows), put_on_device(x), put(router),
                                     experts, kUsed, true, device::Activation::kSilu, out});
    std::vector<double> want(before.begin(), before.end());
    for (std::size_t row = 0; row < rows; ++row) {
      const auto logits = std::span(router).subspan(row * kExperts, kExperts);
      const auto in = std::span(x).subspan(row * kWidth, kWidth);
      std::vector<std::size_t> order(kExperts);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
      const double total = std::exp(double{logits[order[0]]}) + std::exp(double{logits[order[1]]});
      for (std::size_t rank = 0; rank < kUsed; ++rank) {
        const std::size_t e = order[rank];
        const auto inner = reference::swiglu(floats(reference::linear(in, gate[e].values, kWidth)),
                                             floats(reference::linear(in, up[e].values, kWidth)));
        const auto add = reference::linear(floats(inner), down[e].values, kFfn);
        const double share = std::exp(double{logits[e]}) / total;
        for (std::size_t i = 0; i < kWidth; ++i) want[row * kWidth + i] += share * add[i];
      }
    }
    EXPECT_LT(nmse<double>(get(out, want.size()), want), 1e-10) << rows;
  }
  EXPECT_THROW(unit_->enqueue(device::ExpertsOp{1, room(kWidth), room(kExperts), experts, 7}),
               Error);
}

struct CausalCase {
  DType dtype = DType::kF16;
  int window = 0;
  float softcap = 0;
};

class ComputeCausalOp : public ComputeUnitTestBase {
 protected:
  static constexpr int kQHeads = 4, kKvHeads = 2, kDim = 40;
  static constexpr std::size_t kRows = 97, kQRow = kQHeads * kDim, kKvRow = kKvHeads * kDim;
  // Row 1 and some rows between chunks belong to no chunk.
  static constexpr device::CausalChunk kChunks[] = {{0, 1}, {2, 75}, {80, 16}, {96, 0}};

  void expect_rows(const CausalCase& rules, const device::CausalChunk& chunk) {
    device::AttentionGeometry g;
    g.q_heads = kQHeads;
    g.kv_heads = kKvHeads;
    g.head_dim = kDim;
    const std::size_t kv_at = static_cast<std::size_t>(chunk.row_begin) * kKvRow;
    for (int i = 0; i < chunk.num_rows; ++i) {
      const auto row = static_cast<std::size_t>(chunk.row_begin + i);
      const auto first =
          static_cast<std::size_t>(rules.window == 0 ? 0 : std::max(0, i + 1 - rules.window));
      const auto want = reference::reference_attention(
          g, 0.3f, std::span(q_).subspan(row * kQRow, kQRow), std::span(k_).subspan(kv_at),
          std::span(v_).subspan(kv_at), static_cast<std::size_t>(i) + 1, {first, rules.softcap});
      answered_[row] = true;
      ASSERT_LT(nmse<double>(std::span(o_).subspan(row * kQRow, kQRow), want.o), 1e-7) << row;
      for (std::size_t head = 0; head < kQHeads; ++head) {
        const double lse = want.lse[head];
        ASSERT_NEAR(lse_[row * kQHeads + head], lse, 1e-4 * (1 + std::fabs(lse))) << row;
      }
    }
  }

  std::vector<float> q_, k_, v_, o_, lse_;
  std::vector<bool> answered_;
};

TEST_P(ComputeCausalOp, AttendsInsideChunksWithWindowsAndCaps) {
  for (const CausalCase& rules : {CausalCase{DType::kF32},
                                  {DType::kF16},
                                  {DType::kBF16, 20},
                                  {DType::kI8, 0, 5.0f},
                                  {DType::kF8E4M3, 7, 30.0f}}) {
    SCOPED_TRACE(dtype_name(rules.dtype));
    q_ = randoms(kRows * kQRow);
    k_ = randoms(kRows * kKvRow);
    v_ = randoms(kRows * kKvRow);
    device::CausalAttentionOp op{
        kChunks,           kQHeads, kKvHeads,         kDim, 0.3f, rules.dtype,
        put_on_device(q_), put(k_), put_on_device(v_)};
    op.o = put_on_device(std::vector<float>(q_.size(), 5.0f));
    op.lse = put_on_device(std::vector<float>(kRows * kQHeads, 5.0f));
    op.window = rules.window;
    op.softcap = rules.softcap;
    unit_->enqueue(op);
    o_ = get(op.o, q_.size());
    lse_ = get(op.lse, kRows * kQHeads);
    reference::round_kv(rules.dtype, kDim, k_);
    reference::round_kv(rules.dtype, kDim, v_);
    answered_.assign(kRows, false);
    for (const device::CausalChunk& chunk : kChunks) expect_rows(rules, chunk);
    for (std::size_t row = 0; row < kRows; ++row) {
      EXPECT_TRUE(answered_[row] || o_[row * kQRow] == 5.0f) << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ComputeCausalOp, ::testing::ValuesIn(device_ids()),
                         [](const auto& info) { return case_name(info.param); });

TEST_P(ComputeProductOps, MergePartialsOfAnyRows) {
  constexpr std::size_t kRows = 4, kHeads = 3, kDim = 24, kRow = kHeads * kDim;
  const std::int32_t first[] = {0, 1}, second[] = {0, 2};
  const auto o_a = randoms(kRows * kRow), o_b = randoms(kRows * kRow);
  const auto lse_a = randoms(kRows * kHeads), lse_b = randoms(kRows * kHeads);
  const device::MergePartial partials[] = {{put(o_a), put_on_device(lse_a), first},
                                           {put_on_device(o_b), put(lse_b), second}};
  const Slice out = put_on_device(std::vector<float>(kRows * kRow, 9.0f));
  unit_->enqueue(device::MergeOp{kRows, kHeads, kDim, partials, out});
  std::vector<double> want(kRows * kRow);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::size_t row = i / kRow, head = i / kDim;
    const double a = row <= 1 ? std::exp(double{lse_a[head]}) : 0;
    const double b = row == 0 || row == 2 ? std::exp(double{lse_b[head]}) : 0;
    want[i] = a + b > 0 ? (a * o_a[i] + b * o_b[i]) / (a + b) : 0;
  }
  EXPECT_LT(nmse<double>(get(out, want.size()), want), 1e-11);
  const std::int32_t outside = 4;
  const device::MergePartial wrong{room(kRows * kRow), room(kRows * kHeads), {&outside, 1}};
  EXPECT_THROW(unit_->enqueue(device::MergeOp{kRows, kHeads, kDim, {&wrong, 1}, out}), Error);
}

TEST_P(ComputeProductOps, RefuseWhatDoesNotFitAndGoOn) {
  const Matrix w = matrix(DType::kF32, 8, 16), other = matrix(DType::kF32, 8, 12);
  const Slice x = put(randoms(16)), out = room(8);
  const LinearTarget good{w.weight.get(), nullptr, out};
  EXPECT_THROW(unit_->enqueue(LinearOp{2, x, {&good, 1}}), Error);
  const LinearTarget mixed[] = {good, {other.weight.get(), nullptr, out}};
  EXPECT_THROW(unit_->enqueue(LinearOp{1, x, mixed}), Error);
  const LinearTarget missing{nullptr, nullptr, out};
  EXPECT_THROW(unit_->enqueue(LinearOp{1, x, {&missing, 1}}), Error);
  EXPECT_THROW(unit_->enqueue(LinearOp{1, {}, {&good, 1}}), Error);
  EXPECT_THROW(unit_->load({DType::kQ8_0, 4, 33, w.bytes.data()}), Error);
  EXPECT_THROW(unit_->load({DType::kI8, 4, 32, w.bytes.data()}), Error);
  EXPECT_THROW(unit_->load({DType::kF32, 4, 32, nullptr}), Error);
  EXPECT_THROW(unit_->load({DType::kF8E4M3, 4, 32, w.bytes.data(), device::WeightRole::kTable}),
               Error);
  unit_->enqueue(LinearOp{1, x, {&good, 1}});
  EXPECT_LT(nmse<double>(get(out, 8), reference::linear(get(x, 16), w.values, 16)), 1e-11);
}

INSTANTIATE_TEST_SUITE_P(Devices, ComputeProductOps, ::testing::ValuesIn(device_ids()),
                         [](const auto& info) { return case_name(info.param); });

}  // namespace
}  // namespace tandem::device_test
