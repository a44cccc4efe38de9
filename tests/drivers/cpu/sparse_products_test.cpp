// SPDX-License-Identifier: Apache-2.0
//
// Products with weights without their zeros on every instruction set, compared with loops in
// double precision.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/error.h"
#include "compute_fixture.h"
#include "cpu/options.h"
#include "support/reference/compare.h"
#include "support/reference/transformer.h"

namespace tandem::device {
namespace {

using reference::nmse;

enum class Pattern { kRandom, kTwoOfFour, kBlocks, kEmptyRows };

class CpuSparseProducts : public ComputeFixture {
 protected:
  struct Pruned {
    DType dtype;
    std::int64_t out, in;
    std::vector<std::byte> bytes;
    std::vector<float> values;
  };

  static bool is_zero(Pattern pattern, std::int64_t row, std::int64_t i, float uniform) {
    switch (pattern) {
      case Pattern::kRandom:
        return uniform < 0.9f;
      case Pattern::kTwoOfFour:
        return i % 4 == row % 4 || i % 4 == (row + 1) % 4;
      case Pattern::kBlocks:
        return (row / 8 * 7 + i / 8 * 5) % 10 != 0;
      case Pattern::kEmptyRows:
        return row % 3 != 0;
    }
    return false;
  }

  Pruned pruned(DType dtype, std::int64_t out, std::int64_t in, Pattern pattern) {
    Pruned m{dtype, out, in, {}, randoms(static_cast<std::size_t>(out * in))};
    std::uniform_real_distribution<float> uniform;
    for (std::int64_t i = 0; i < out * in; ++i) {
      if (is_zero(pattern, i / in, i % in, uniform(random_))) {
        m.values[static_cast<std::size_t>(i)] = i % 2 == 0 ? 0.0f : -0.0f;
      }
    }
    m.bytes.resize(static_cast<std::size_t>(out) * dtype_row_bytes(dtype, in));
    quantize_row(dtype, m.values.data(), m.bytes.data(), static_cast<std::size_t>(out * in));
    dequantize_row(dtype, m.bytes.data(), m.values.data(), static_cast<std::size_t>(out * in));
    return m;
  }

  static WeightSource source(const Pruned& m) { return {m.dtype, m.out, m.in, m.bytes.data()}; }

  std::unique_ptr<ComputeUnit> unit(const char* word) {
    devices_.push_back(cpu_backend().open(
        0, {.num_threads = 3, .values = {{std::string(cpu::kSparseOption.name), word}}}));
    return devices_.back()->make_compute_unit();
  }

  // y = old + W x + bias, of `unit`.
  std::vector<float> multiply(ComputeUnit& unit, const Weight& weight, std::span<const float> x,
                              std::int64_t rows) {
    const auto outputs = static_cast<std::size_t>(weight.out_features());
    const std::vector<float> ones(outputs * static_cast<std::size_t>(rows), 1.0f);
    std::vector<float> bias(outputs);
    for (std::size_t i = 0; i < outputs; ++i) bias[i] = static_cast<float>(i);
    const auto bias_weight =
        unit.load({DType::kF32, 1, static_cast<std::int64_t>(outputs),
                   reinterpret_cast<const std::byte*>(bias.data()), WeightRole::kVector});
    const LinearTarget target{&weight, bias_weight.get(), put(ones), true};
    unit.enqueue(LinearOp{rows, put(x), {&target, 1}});
    return get(target.out, ones.size());
  }

  // The same in double precision.
  std::vector<double> expected(const Pruned& m, std::span<const float> x) {
    auto y = reference::linear(x, m.values, static_cast<std::size_t>(m.in));
    std::vector<double> want(y.begin(), y.end());
    for (std::size_t i = 0; i < want.size(); ++i) {
      want[i] += 1.0 + static_cast<double>(i % static_cast<std::size_t>(m.out));
    }
    return want;
  }

  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<ComputeUnit> sparse_ = unit("always"), dense_ = unit("never");
};

constexpr Pattern kPatterns[] = {Pattern::kRandom, Pattern::kTwoOfFour, Pattern::kBlocks,
                                 Pattern::kEmptyRows};

// Widths that end within a block of 256 inputs, at its end, and behind it.
TEST_P(CpuSparseProducts, OfFewRowsAreThoseOfDoubles) {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    for (const Pattern pattern : kPatterns) {
      for (const std::int64_t in : {50, 64, 192, 256, 257, 2112}) {
        const Pruned m = pruned(dtype, 70, in, pattern);
        const auto packed = sparse_->load(source(m)), whole = dense_->load(source(m));
        ASSERT_LT(packed->size_bytes(), whole->size_bytes());
        for (const std::int64_t rows : {1, 2, 3, 4, 7}) {
          SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " " << static_cast<int>(pattern)
                                          << ", " << rows << " rows of " << in);
          const auto x = randoms(static_cast<std::size_t>(rows * in));
          EXPECT_LT(nmse<double>(multiply(*sparse_, *packed, x, rows), expected(m, x)), 1e-12);
        }
      }
    }
  }
}

// Their zeros stay zero (iq4_nl has none), others are rounded to f16; activations are not
// quantised.
TEST_P(CpuSparseProducts, OfQuantizedTypesAreThoseOfDoubles) {
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_0, DType::kQ5_0}) {
    const Pruned m = pruned(dtype, 70, 512, Pattern::kRandom);
    const auto packed = sparse_->load(source(m)), whole = dense_->load(source(m));
    ASSERT_LT(packed->size_bytes(), whole->size_bytes()) << dtype_name(dtype);
    for (const std::int64_t rows : {1, 3, 40}) {
      SCOPED_TRACE(testing::Message() << dtype_name(dtype) << ", " << rows << " rows");
      const auto x = randoms(static_cast<std::size_t>(rows) * 512);
      EXPECT_LT(nmse<double>(multiply(*sparse_, *packed, x, rows), expected(m, x)), 1e-7);
    }
  }
}

// Places take all 256 values, and blocks end after 1, 2, ... values.
TEST_P(CpuSparseProducts, OfFewAndManyRowsFindEveryPlace) {
  constexpr std::int64_t kIn = 512, kOut = 256;
  std::vector<float> values(kOut * kIn);
  for (std::int64_t row = 0; row < kOut; ++row) {
    values[row * kIn + row] = static_cast<float>(row + 1);
    for (std::int64_t i = 0; i < row; ++i) values[row * kIn + 256 + i] = 1.0f;
  }
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    std::vector<std::byte> bytes(kOut * dtype_row_bytes(dtype, kIn));
    quantize_row(dtype, values.data(), bytes.data(), values.size());
    const Pruned m{dtype, kOut, kIn, bytes, values};
    const auto packed = sparse_->load(source(m));
    for (const std::int64_t rows : {1, 40}) {
      std::vector<float> x(static_cast<std::size_t>(rows * kIn));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31) - 15;
      const auto got = multiply(*sparse_, *packed, x, rows);
      const auto want = expected(m, x);
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i], want[i]) << dtype_name(dtype) << " " << rows << " rows, value " << i;
      }
    }
  }
}

TEST_P(CpuSparseProducts, OfBf16MultiplyRoundedRowsIfThereAreFew) {
  for (const Pattern pattern : kPatterns) {
    for (const std::int64_t in : {64, 1024, 2112}) {
      const Pruned m = pruned(DType::kBF16, 70, in, pattern);
      const auto packed = sparse_->load(source(m));
      for (const std::int64_t rows : {1, 2, 3, 4, 7}) {
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(pattern) << ", " << rows << " of " << in);
        auto x = randoms(static_cast<std::size_t>(rows * in));
        const auto got = multiply(*sparse_, *packed, x, rows);
        for (float& value : x) value = bf16_to_f32(f32_to_bf16(value));
        EXPECT_LT(nmse<double>(got, expected(m, x)), 1e-12);
      }
    }
  }
}

TEST_P(CpuSparseProducts, OfManyRowsAreThoseOfDoubles) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Pattern pattern : kPatterns) {
      for (const std::int64_t in : {64, 576}) {
        const Pruned m = pruned(dtype, 150, in, pattern);
        const auto packed = sparse_->load(source(m));
        for (const std::int64_t rows : {30, 49, 300}) {
          SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " " << static_cast<int>(pattern)
                                          << ", " << rows << " rows of " << in);
          const auto x = randoms(static_cast<std::size_t>(rows * in));
          EXPECT_LT(nmse<double>(multiply(*sparse_, *packed, x, rows), expected(m, x)), 1e-12);
        }
      }
    }
  }
}

TEST_P(CpuSparseProducts, OfARowAreTheSameBitsInEveryBatchOfFewRows) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Pruned m = pruned(dtype, 70, 1088, Pattern::kRandom);
    const auto packed = sparse_->load(source(m));
    const auto x = randoms(7 * 1088);
    const auto batch = multiply(*sparse_, *packed, x, 7);
    for (std::size_t row = 0; row < 7; ++row) {
      const auto alone = multiply(*sparse_, *packed, std::span(x).subspan(row * 1088, 1088), 1);
      const std::vector<float> mine(batch.begin() + static_cast<std::ptrdiff_t>(row * 70),
                                    batch.begin() + static_cast<std::ptrdiff_t>(row * 70 + 70));
      EXPECT_EQ(mine, alone) << dtype_name(dtype) << " row " << row;
    }
  }
}

// Of the last rows, which a narrower kernel multiplies.
TEST_P(CpuSparseProducts, OfARowAreTheSameBitsInEveryBatchOfManyRows) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Pruned m = pruned(dtype, 70, 576, Pattern::kTwoOfFour);
    const auto packed = sparse_->load(source(m));
    const auto x = randoms(64 * 576);
    std::vector<float> all = multiply(*sparse_, *packed, x, 64);
    all.resize(40 * 70);
    EXPECT_EQ(multiply(*sparse_, *packed, std::span(x).first(40 * 576), 40), all)
        << dtype_name(dtype);
  }
}

TEST_P(CpuSparseProducts, AnInfinityThatMeetsAZeroIsLeftOutOrNoNumber) {
  const Pruned m = pruned(DType::kF32, 70, 128, Pattern::kRandom);
  const auto packed = sparse_->load(source(m));
  for (const std::int64_t rows : {1, 40}) {
    auto x = randoms(static_cast<std::size_t>(rows * 128));
    auto finite = x;
    finite[5] = 0;
    x[5] = std::numeric_limits<float>::infinity();
    const auto got = multiply(*sparse_, *packed, x, rows);
    const auto without = multiply(*sparse_, *packed, finite, rows);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool meets_a_value = i < 70 && m.values[i * 128 + 5] != 0;
      const bool is_left_out = got[i] == without[i];
      EXPECT_TRUE(meets_a_value ? !std::isfinite(got[i])
                                : is_left_out || (i < 70 && std::isnan(got[i])))
          << i;
    }
  }
}

// Kernels look whole blocks of 256 inputs up, and memory of rows is used again.
TEST_P(CpuSparseProducts, WhatWiderRowsLeftBehindTheLastInputDoesNotShow) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Pruned wide = pruned(dtype, 70, 512, Pattern::kRandom);
    const Pruned m = pruned(dtype, 70, 300, Pattern::kRandom);
    const auto before = sparse_->load(source(wide)), packed = sparse_->load(source(m));
    const std::vector<float> poison(3 * 512, std::numeric_limits<float>::quiet_NaN());
    (void)multiply(*sparse_, *before, poison, 3);
    const auto x = randoms(300);
    EXPECT_LT(nmse<double>(multiply(*sparse_, *packed, x, 1), expected(m, x)), 1e-4)
        << dtype_name(dtype);
  }
}

// Denormals, an infinity and NaN are no zeros. Rows 0 to 3 have one each.
TEST_P(CpuSparseProducts, KeepTheLeastValuesAndThoseThatAreNotFinite) {
  const std::uint32_t of_f32[] = {0x00000001, 0x807fffff, 0xff800000, 0x7fc00001};
  const std::uint32_t of_f16[] = {0x0001, 0x83ff, 0xfc00, 0x7e01};
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    Pruned m = pruned(dtype, 70, 192, Pattern::kEmptyRows);
    std::fill(m.bytes.begin(), m.bytes.begin() + dtype_row_bytes(dtype, 4 * 192), std::byte{0});
    for (std::size_t row = 0; row < 4; ++row) {
      const std::uint32_t bits = (dtype == DType::kF32 ? of_f32 : of_f16)[row];
      std::byte* at = m.bytes.data() + dtype_row_bytes(dtype, row * 192 + 31 * row + 5);
      std::memcpy(at, &bits, dtype_row_bytes(dtype, 1));
    }
    const auto packed = sparse_->load(source(m)), whole = dense_->load(source(m));
    for (const std::int64_t rows : {1, 33}) {
      auto x = randoms(static_cast<std::size_t>(rows * 192));
      for (float& value : x) value = std::copysign(1e36f, value);  // so that denormals show
      const auto got = multiply(*sparse_, *packed, x, rows);
      const auto want = multiply(*dense_, *whole, x, rows);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(std::isnan(got[i]), std::isnan(want[i])) << dtype_name(dtype) << " row " << i;
        EXPECT_EQ(std::isnan(got[i]), i == 3) << dtype_name(dtype) << " row " << i;
        if (i == 3) continue;
        EXPECT_EQ(got[i], want[i]) << dtype_name(dtype) << " row " << i;
      }
      EXPECT_NE(got[1], 2.0f) << "the bias and what was there alone";
    }
  }
}

INSTANTIATE_ON_EVERY_TARGET(CpuSparseProducts);

}  // namespace
}  // namespace tandem::device
