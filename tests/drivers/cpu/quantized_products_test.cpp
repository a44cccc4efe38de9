// SPDX-License-Identifier: Apache-2.0
//
// Products with quantised weights, compared with double-precision loops on rounded activations, for
// every type and instruction set. A row has the same bits in every batch.
#include <cmath>
#include <limits>

#include "common/error.h"
#include "compute_fixture.h"
#include "support/reference/compare.h"
#include "support/reference/quantized_rows.h"
#include "support/reference/transformer.h"

namespace tandem::device {
namespace {

using reference::nmse;

constexpr DType kProductTypes[] = {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1,
                                   DType::kQ5_0, DType::kQ5_1, DType::kIQ4_NL,
                                   DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};
constexpr double kRounding = 1e-11;   // of f32 sums
constexpr double kQuantising = 1e-4;  // of int8 activations, normally distributed

class CpuQuantizedProducts : public ComputeFixture {
 protected:
  std::vector<float> multiply(const Matrix& w, std::span<const float> x) {
    const std::int64_t rows = x.size() / w.weight->in_features();
    const std::size_t size = rows * w.weight->out_features();
    const LinearTarget target{w.weight.get(), nullptr, room(size)};
    unit_->enqueue(LinearOp{rows, put(x), {&target, 1}});
    return get(target.out, size);
  }

  void expect_product(DType dtype, std::int64_t rows, std::int64_t out, std::int64_t in) {
    SCOPED_TRACE(std::string(dtype_name(dtype)) + " rows " + std::to_string(rows) + " out " +
                 std::to_string(out) + " in " + std::to_string(in));
    const Matrix w = matrix(dtype, out, in);
    const auto x = randoms(rows * in);
    const auto y = multiply(w, x);
    EXPECT_LT(nmse<double>(y, reference::linear(reference::quantized_rows(x), w.values, in)),
              kRounding);
    if (y.size() < 50) return;  // too few for the mean error
    EXPECT_LT(nmse<double>(y, reference::linear(x, w.values, in)), kQuantising);
  }
};

TEST_P(CpuQuantizedProducts, MultiplyEveryType) {
  for (const DType dtype : kProductTypes) {
    for (const int rows : {1, 3, 8, 21}) expect_product(dtype, rows, 50, 512);
  }
}

TEST_P(CpuQuantizedProducts, MultiplyOddNumbersOfOutputsAndBlocks) {
  for (const int out : {1, 2, 15, 16, 17, 31, 33, 97}) {
    for (const int in : {32, 96, 544}) expect_product(DType::kQ8_0, 5, out, in);
    expect_product(DType::kQ5_1, 2, out, 96);
    expect_product(DType::kQ6_K, 2, out, 256);
  }
}

TEST_P(CpuQuantizedProducts, MultiplyEnoughToWakeTheTeamAndToCutRows) {
  expect_product(DType::kQ8_0, 1, 1024, 512);
  expect_product(DType::kQ4_0, 6, 600, 544);
  expect_product(DType::kQ4_K, 300, 40, 256);
}

TEST_P(CpuQuantizedProducts, DoNotDependOnTheBatchBitForBit) {
  for (const DType dtype : kProductTypes) {
    const Matrix w = matrix(dtype, 70, 768);
    const auto x = randoms(40 * 768);
    const auto all = multiply(w, x);
    for (std::size_t rows = 1; rows < 40; ++rows) {
      const auto some = multiply(w, std::span(x).last(rows * 768));
      EXPECT_EQ(std::memcmp(some.data(), all.data() + (40 - rows) * 70, some.size() * 4), 0)
          << dtype_name(dtype) << " " << rows;
    }
  }
}

TEST_P(CpuQuantizedProducts, KeepNanAndInfinityInTheirRows) {
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ6_K}) {
    const Matrix w = matrix(dtype, 20, 256);
    auto x = randoms(7 * 256);
    x[256 + 40] = std::numeric_limits<float>::quiet_NaN();
    x[4 * 256] = -std::numeric_limits<float>::infinity();
    const auto y = multiply(w, x);
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(std::isnan(y[i]), i / 20 == 1 || i / 20 == 4) << i;
    }
  }
}

TEST_P(CpuQuantizedProducts, TakeBlocksOfZerosAndOfTinyAndHugeValues) {
  const Matrix w = matrix(DType::kQ4_1, 20, 128);
  auto x = randoms(128);
  for (std::size_t i = 0; i < 32; ++i) {
    x[i] = 0.0f;
    x[i + 32] *= 1e-38f;
    x[i + 64] *= 1e30f;
  }
  const auto y = multiply(w, x);
  const auto want = reference::linear(reference::quantized_rows(x), w.values, 128);
  EXPECT_LT(nmse<double>(y, want), kRounding);
  const std::vector<float> zeros(128);
  for (const float value : multiply(w, zeros)) EXPECT_EQ(value, 0.0f);
}

// For every form of rows: the norm inside a product equals a separate norm before it.
TEST_P(CpuQuantizedProducts, NormaliseOnTheWayIn) {
  const Matrix norm = matrix(DType::kF32, 1, 256);
  for (const DType dtype : {DType::kQ4_K, DType::kBF16, DType::kF16}) {
    const Matrix w = matrix(dtype, 33, 256);
    for (const std::int64_t rows : {1, 5, 100}) {
      const Slice x = put(randoms(rows * 256)), normed = room(rows * 256), out = room(rows * 33);
      unit_->enqueue(RmsNormOp{rows, x, normed, norm.weight.get(), 1e-5f});
      const auto want = multiply(w, get(normed, rows * 256));
      const LinearTarget target{w.weight.get(), nullptr, out};
      unit_->enqueue(LinearOp{rows, x, {&target, 1}, norm.weight.get(), 1e-5f});
      EXPECT_EQ(get(out, rows * 33), want) << dtype_name(dtype) << " " << rows;
    }
  }
}

// The largest sums of integers that a block can have.
TEST_P(CpuQuantizedProducts, HoldTheLargestCodes) {
  for (const std::uint8_t fill : {0x00, 0x7f, 0x80, 0xff}) {
    std::vector<std::byte> bytes(3 * sizeof(BlockQ8_0) * 2, static_cast<std::byte>(fill));
    const std::uint16_t scale = f32_to_f16(0.5f);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(BlockQ8_0)) {
      std::memcpy(bytes.data() + at, &scale, 2);
    }
    Matrix w;
    w.values.resize(3 * 64);
    dequantize_row(DType::kQ8_0, bytes.data(), w.values.data(), w.values.size());
    w.weight = unit_->load({DType::kQ8_0, 3, 64, bytes.data()});
    std::vector<float> x(64, 127.0f);
    for (std::size_t i = 32; i < 64; i += 2) x[i] = -127.0f;
    const auto want = reference::linear(x, w.values, 64);
    const auto y = multiply(w, x);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], want[i]) << int{fill};
  }
}

TEST_P(CpuQuantizedProducts, KeepTransientSourcesAndRefuseTheOtherUse) {
  for (const DType dtype : {DType::kQ8_0, DType::kBF16, DType::kF16}) {
    Matrix w = matrix(dtype, 20, 64);
    const auto load = [&](WeightRole role) {
      auto bytes = w.bytes;
      auto weight = unit_->load({dtype, 20, 64, bytes.data(), role, true});
      std::fill(bytes.begin(), bytes.end(), std::byte{0x55});
      return weight;
    };
    const auto product = load(WeightRole::kProduct), table = load(WeightRole::kTable),
               both = load(WeightRole::kBoth);
    const auto x = randoms(64);
    const auto want = multiply(w, x);
    const std::int32_t id = 7;
    for (const Weight* weight : {product.get(), both.get()}) {
      const LinearTarget target{weight, nullptr, room(20)};
      unit_->enqueue(LinearOp{1, put(x), {&target, 1}});
      EXPECT_EQ(get(target.out, 20), want);
    }
    for (const Weight* weight : {table.get(), both.get()}) {
      const Slice out = room(64);
      unit_->enqueue(EmbedOp{weight, {&id, 1}, out});
      const auto row = get(out, 64);
      for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(row[i], w.values[7 * 64 + i]);
    }
    if (dtype == DType::kF16) continue;
    EXPECT_THROW(unit_->enqueue(EmbedOp{product.get(), {&id, 1}, room(64)}), Error);
    const LinearTarget target{table.get(), nullptr, room(20)};
    EXPECT_THROW(unit_->enqueue(LinearOp{1, put(x), {&target, 1}}), Error);
  }
}

INSTANTIATE_ON_EVERY_TARGET(CpuQuantizedProducts);

}  // namespace
}  // namespace tandem::device
