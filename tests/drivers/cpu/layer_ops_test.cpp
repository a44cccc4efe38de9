// SPDX-License-Identifier: Apache-2.0
//
// The CPU compute unit's operations on rows (norms, rotation, gates, caps) against double-precision
// loops, for every instruction set.
#include <cmath>
#include <limits>
#include <numeric>

#include "common/error.h"
#include "compute_fixture.h"
#include "cpu/weight.h"
#include "support/reference/compare.h"
#include "support/reference/transformer.h"

namespace tandem::device {
namespace {

using reference::nmse;

class CpuLayerOps : public ComputeFixture {};

TEST_P(CpuLayerOps, NormalisesRowsInPlaceAndElsewhere) {
  for (const int width : {1, 24, 64, 200, 2048}) {
    for (const int rows : {1, 3, 50}) {
      const Matrix weight = matrix(DType::kF32, 1, width);
      const auto values = randoms(rows * width);
      const Slice x = put(values);
      const Slice out = rows == 3 ? x : room(rows * width);
      unit_->enqueue(RmsNormOp{rows, x, out, weight.weight.get(), 1e-5f});
      const auto want = reference::rms_norm(values, weight.values, 1e-5);
      EXPECT_LT(nmse<double>(get(out, rows * width), want), 1e-12) << width;
    }
  }
}

TEST_P(CpuLayerOps, RotatesBothPairings) {
  for (const bool interleaved : {true, false}) {
    for (const std::size_t pairs : {4u, 12u, 32u, 64u}) {
      const std::size_t dim = pairs == 12 ? 40 : 2 * pairs;  // also rotates part of a head
      std::vector<float> frequencies(pairs);
      for (std::size_t i = 0; i < pairs; ++i) {
        frequencies[i] = std::pow(10000.0f, -static_cast<float>(i) / static_cast<float>(pairs));
      }
      const std::int32_t positions[] = {0, 1, 77, 4095};
      const auto values = randoms(4 * 3 * dim);
      const Slice x = put(values);
      const RopeTarget target{3, x};
      unit_->enqueue(RopeOp{4,
                            static_cast<int>(dim),
                            {&target, 1},
                            1e-5f,
                            positions,
                            frequencies,
                            1.25f,
                            interleaved});
      const auto want =
          reference::rope({3, dim, 1.25, interleaved}, values, positions, frequencies);
      EXPECT_LT(nmse<double>(get(x, values.size()), want), 1e-12) << pairs;
    }
  }
}

TEST_P(CpuLayerOps, RotatesAnewWhenPositionsChange) {
  const std::vector<float> frequencies = {1.0f, 0.5f};
  const auto values = randoms(4);
  for (const std::int32_t position : {3, 4, 4}) {
    const Slice x = put(values);
    const RopeTarget target{1, x};
    unit_->enqueue(RopeOp{1, 4, {&target, 1}, 1e-5f, {&position, 1}, frequencies});
    const auto want = reference::rope({1, 4}, values, {&position, 1}, frequencies);
    EXPECT_LT(nmse<double>(get(x, 4), want), 1e-12);
  }
}

TEST_P(CpuLayerOps, RotatesByFrequenciesInTurns) {
  const std::vector<float> kinds[] = {{1.0f, 0.5f}, {0.3f, 0.1f}, {0.7f, 0.2f}};
  const auto values = randoms(4);
  const std::int32_t position = 5;
  for (const std::size_t kind : {0u, 1u, 0u, 1u, 2u, 0u, 2u, 1u}) {
    const Slice x = put(values);
    const RopeTarget target{1, x};
    unit_->enqueue(RopeOp{1, 4, {&target, 1}, 1e-5f, {&position, 1}, kinds[kind]});
    const auto want = reference::rope({1, 4}, values, {&position, 1}, kinds[kind]);
    EXPECT_LT(nmse<double>(get(x, 4), want), 1e-12) << kind;
  }
}

TEST_P(CpuLayerOps, PacksNoNorms) {
  cpu::Team team(1);
  const std::vector<std::byte> bytes(64 * 4);
  for (const DType dtype : {DType::kBF16, DType::kQ8_0, DType::kF32}) {
    const cpu::CpuWeight norm({dtype, 1, 64, bytes.data(), WeightRole::kVector}, team);
    EXPECT_EQ(norm.packed(), nullptr);
    EXPECT_FALSE(norm.has_rows());
    EXPECT_EQ(norm.vector().size(), 64u);
    EXPECT_EQ(norm.size_bytes(), dtype_row_bytes(dtype, 64));
    // A product with one output has the same width.
    const cpu::CpuWeight gate({dtype, 1, 64, bytes.data()}, team);
    EXPECT_TRUE(gate.multiplies());
  }
}

TEST_P(CpuLayerOps, NormalisesHeadsBeforeRotatingThem) {
  const std::vector<float> frequencies = {1.0f, 0.5f, 0.1f};
  const std::int32_t positions[] = {5, 9};
  const Matrix norm = matrix(DType::kF32, 1, 6);
  const auto q = randoms(2 * 4 * 6), k = randoms(2 * 6);
  const RopeTarget targets[] = {{4, put(q), norm.weight.get()}, {1, put(k)}};
  unit_->enqueue(RopeOp{2, 6, targets, 1e-5f, positions, frequencies, 1.0f, false});
  const auto normed = reference::rms_norm(q, norm.values, 1e-5);
  const std::vector<float> heads(normed.begin(), normed.end());
  const reference::RopeShape q_shape{4, 6, 1.0, false}, k_shape{1, 6, 1.0, false};
  EXPECT_LT(nmse<double>(get(targets[0].x, q.size()),
                         reference::rope(q_shape, heads, positions, frequencies)),
            1e-12);
  EXPECT_LT(nmse<double>(get(targets[1].x, k.size()),
                         reference::rope(k_shape, k, positions, frequencies)),
            1e-12);
}

TEST_P(CpuLayerOps, AddsANormToWhatIsThere) {
  const Matrix weight = matrix(DType::kF32, 1, 40);
  const auto values = randoms(3 * 40), before = randoms(3 * 40);
  const Slice out = put(before);
  unit_->enqueue(RmsNormOp{3, put(values), out, weight.weight.get(), 1e-6f, true});
  auto want = reference::rms_norm(values, weight.values, 1e-6);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] += before[i];
  EXPECT_LT(nmse<double>(get(out, want.size()), want), 1e-12);
}

// A product with the identity shows the prepared rows.
TEST_P(CpuLayerOps, PreparesTheRowsOfAProduct) {
  constexpr std::int64_t kWidth = 100, kRows = 5;
  std::vector<float> identity(kWidth * kWidth, 0.0f);
  for (std::size_t i = 0; i < kWidth; ++i) identity[i * (kWidth + 1)] = 1.0f;
  const auto weight = unit_->load(
      {DType::kF32, kWidth, kWidth, reinterpret_cast<const std::byte*>(identity.data())});
  const Matrix norm = matrix(DType::kF32, 1, kWidth);
  auto gate = randoms(kRows * kWidth, 30.0f);
  gate[0] = -1000.0f;
  gate[1] = 1000.0f;
  gate[2] = 0.0f;
  const auto up = randoms(kRows * kWidth);
  const Slice x = put(gate);
  const LinearTarget target{weight.get(), nullptr, room(kRows * kWidth)};
  const auto product = [&](const LinearOp& op) {
    unit_->enqueue(op);
    return get(target.out, kRows * kWidth);
  };
  LinearOp op{kRows, x, {&target, 1}, norm.weight.get(), 1e-3f};
  EXPECT_LT(nmse<double>(product(op), reference::rms_norm(gate, norm.values, 1e-3)), 1e-12);
  op.norm = nullptr;
  op.up = put(up);
  EXPECT_LT(nmse<double>(product(op), reference::swiglu(gate, up)), 1e-12);
  op.activation = Activation::kGeluTanh;
  EXPECT_LT(nmse<double>(product(op), reference::geglu(gate, up)), 1e-12);
  EXPECT_EQ(get(x, gate.size()), gate);
  op.norm = norm.weight.get();
  EXPECT_THROW(unit_->enqueue(op), Error);
}

TEST_P(CpuLayerOps, CapsSoftly) {
  auto values = randoms(3 * 77, 40.0f);
  values[0] = -5000.0f;
  values[1] = 5000.0f;
  const Slice x = put(values);
  unit_->enqueue(SoftcapOp{3, 77, x, 30.0f});
  std::vector<double> want;
  for (const float value : values) want.push_back(30.0 * std::tanh(value / 30.0));
  EXPECT_LT(nmse<double>(get(x, values.size()), want), 1e-12);
  EXPECT_THROW(unit_->enqueue(SoftcapOp{3, 77, x, 0.0f}), Error);
  EXPECT_THROW(unit_->enqueue(SoftcapOp{3, 77, x, std::numeric_limits<float>::infinity()}), Error);
}

TEST_P(CpuLayerOps, CapsSmallValuesAsExactlyAsLargeOnes) {
  std::vector<float> values{0.0f};
  for (int exponent = -40; exponent < 10; ++exponent) {
    for (const float x : {1.0f, -1.3f, 1.7f}) values.push_back(std::ldexp(x, exponent));
  }
  const auto width = static_cast<std::int64_t>(values.size());
  const Slice x = put(values);
  unit_->enqueue(SoftcapOp{1, width, x, 30.0f});
  const auto got = get(x, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double want = 30.0 * std::tanh(static_cast<double>(values[i]) / 30.0);
    EXPECT_NEAR(got[i], want, 1e-6 * std::fabs(want)) << values[i];
  }
}

TEST_P(CpuLayerOps, CapsARowTheSameWhoeverSharesTheCall) {
  constexpr std::int64_t kRows = 5, kWidth = 77;
  const auto values = randoms(kRows * kWidth, 20.0f);
  const Slice together = put(values);
  unit_->enqueue(SoftcapOp{kRows, kWidth, together, 30.0f});
  const auto whole = get(together, values.size());
  for (std::int64_t row = 0; row < kRows; ++row) {
    const Slice alone = put(std::span(values).subspan(row * kWidth, kWidth));
    unit_->enqueue(SoftcapOp{1, kWidth, alone, 30.0f});
    const auto one = get(alone, kWidth);
    EXPECT_EQ(std::memcmp(one.data(), whole.data() + row * kWidth, kWidth * sizeof(float)), 0);
  }
}

TEST_P(CpuLayerOps, ScalesEmbeddings) {
  const Matrix table = matrix(DType::kQ8_0, 10, 64);
  const std::int32_t ids[] = {9, 0};
  const Slice out = room(128);
  unit_->enqueue(EmbedOp{table.weight.get(), ids, out, 2.5f});
  const auto got = get(out, 128);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_FLOAT_EQ(got[i], 2.5f * table.values[9 * 64 + i]);
    EXPECT_FLOAT_EQ(got[64 + i], 2.5f * table.values[i]);
  }
}

INSTANTIATE_ON_EVERY_TARGET(CpuLayerOps);

}  // namespace
}  // namespace tandem::device
