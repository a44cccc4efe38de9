// SPDX-License-Identifier: Apache-2.0
//
// Products with e4m3 weights on every instruction set: compared with double-precision loops over
// codes, scales and rounded rows; a row has the same bits in every batch.
#include <gmock/gmock.h>

#include "common/error.h"
#include "compute_fixture.h"
#include "support/reference/compare.h"
#include "support/reference/transformer.h"

namespace tandem::device {
namespace {

using reference::nmse;

struct Blocks {
  std::int64_t rows, columns;
};

class CpuF8Products : public ComputeFixture {
 protected:
  struct F8Matrix {
    std::vector<std::byte> codes;
    std::vector<float> scales, values;
    std::unique_ptr<Weight> weight;
  };

  F8Matrix f8_matrix(std::int64_t out, std::int64_t in, const Blocks& blocks) {
    F8Matrix m;
    // every code except NaN, small ones often
    for (const float value : randoms(static_cast<std::size_t>(out * in), 3.0f)) {
      const float spread = value * value * value * value * value;
      m.codes.push_back(std::byte{f32_to_f8(spread)});
    }
    const std::int64_t per_row = (in - 1) / blocks.columns + 1;
    m.scales = randoms(static_cast<std::size_t>(((out - 1) / blocks.rows + 1) * per_row));
    for (std::int64_t row = 0; row < out; ++row) {
      for (std::int64_t i = 0; i < in; ++i) {
        const std::int64_t scale = row / blocks.rows * per_row + i / blocks.columns;
        const std::byte code = m.codes[static_cast<std::size_t>(row * in + i)];
        m.values.push_back(f8_to_f32(std::to_integer<std::uint8_t>(code)) *
                           m.scales[static_cast<std::size_t>(scale)]);
      }
    }
    WeightSource source{DType::kF8E4M3, out, in, m.codes.data()};
    source.scales = {m.scales.data(), blocks.rows, blocks.columns};
    m.weight = unit_->load(source);
    return m;
  }

  std::vector<float> multiply(const F8Matrix& m, std::span<const float> x, std::int64_t rows) {
    const auto outputs = static_cast<std::size_t>(m.weight->out_features());
    const LinearTarget target{m.weight.get(), nullptr,
                              room(static_cast<std::size_t>(rows) * outputs)};
    unit_->enqueue(LinearOp{rows, put(x), {&target, 1}});
    return get(target.out, static_cast<std::size_t>(rows) * outputs);
  }
};

TEST_P(CpuF8Products, AreThoseOfDoublesWithRoundedRows) {
  for (const std::int64_t in : {1, 33, 128, 1100, 2080}) {
    for (const Blocks& blocks : {Blocks{1, in}, {200, in}, {128, 128}, {30, 48}}) {
      const F8Matrix m = f8_matrix(70, in, blocks);
      for (const std::int64_t rows : {1, 5, 7, 30}) {
        SCOPED_TRACE(testing::Message() << rows << " rows of " << in << ", blocks of "
                                        << blocks.rows << " x " << blocks.columns);
        auto x = randoms(static_cast<std::size_t>(rows * in));
        const auto got = multiply(m, x, rows);
        for (float& value : x) value = bf16_to_f32(f32_to_bf16(value));
        const auto want = reference::linear(x, m.values, static_cast<std::size_t>(in));
        EXPECT_LT(nmse<double>(got, want), 1e-11);
      }
    }
  }
}

TEST_P(CpuF8Products, OfARowAreTheSameBitsInEveryBatch) {
  for (const Blocks& blocks : {Blocks{1, 1104}, {128, 128}}) {
    const F8Matrix m = f8_matrix(70, 1104, blocks);
    const auto x = randoms(40 * 1104);
    const auto all = multiply(m, x, 40);
    for (std::int64_t rows = 1; rows < 40; ++rows) {
      const auto some = multiply(m, std::span(x).last(static_cast<std::size_t>(rows) * 1104), rows);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.end() - rows * 70)) << rows;
    }
  }
}

TEST_P(CpuF8Products, RefuseScalesThatCutThePairsOfAProduct) {
  const std::vector<std::byte> codes(4 * 64);
  const std::vector<float> scales(4 * 64, 1.0f);
  const auto error_of = [&](std::int64_t rows, std::int64_t columns) -> std::string {
    WeightSource source{DType::kF8E4M3, 4, 64, codes.data()};
    source.scales = {scales.data(), rows, columns};
    try {
      unit_->load(source);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  for (const Blocks& blocks : {Blocks{1, 1}, {1, 24}, {1, 63}, {1, 0}, {1, -16}, {0, 16}}) {
    EXPECT_THAT(error_of(blocks.rows, blocks.columns), testing::HasSubstr("a multiple of 16"))
        << blocks.rows << " x " << blocks.columns;
  }
  for (const std::int64_t columns : {16, 48, 64, 100}) EXPECT_EQ(error_of(3, columns), "no error");
}

INSTANTIATE_ON_EVERY_TARGET(CpuF8Products);

}  // namespace
}  // namespace tandem::device
