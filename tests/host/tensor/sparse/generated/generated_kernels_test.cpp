// SPDX-License-Identifier: Apache-2.0
//
// Generated kernels against the generic ones and naive loops, over random tensors and matrices for
// points of the whole grammar.
#include "tensor/sparse/generated/generated_kernels.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <set>

#include "../random_tensor.h"
#include "block_rows.h"
#include "common/scratch_folder.h"
#include "machine_compiler.h"

namespace tandem::sparse {
namespace {

using test::BlockRows;
using test::Index;

class GeneratedKernelsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test::machine_compiler().empty()) GTEST_SKIP() << "no C++ compiler";
  }
  KernelCacheOptions options() const {
    KernelCacheOptions made;
    made.folder = folder_.path() + "/kernels";
    made.compiler = SourceCompiler(test::machine_compiler());
    return made;
  }

  ScratchFolder folder_{"test", "generated-kernels."};
};

template <typename Value>
std::vector<FactorMatrix<Value>> drawn_factors(const Index& sizes, std::size_t rank) {
  std::mt19937_64 engine(47);
  std::vector<FactorMatrix<Value>> factors;
  for (const std::uint64_t size : sizes) {
    FactorMatrix<Value>& factor = factors.emplace_back(size, rank);
    for (Value& value : factor.values) {
      value = static_cast<Value>(static_cast<double>(engine() % 2001) / 1000 - 1);
    }
  }
  return factors;
}

template <typename Value>
void expect_near_generic(const FactorMatrix<Value>& got, const FactorMatrix<Value>& want) {
  double most = 0;
  for (const Value value : want.values) most = std::max(most, std::abs(static_cast<double>(value)));
  const double bound = 100 * static_cast<double>(std::numeric_limits<Value>::epsilon()) * most;
  for (std::size_t i = 0; i < want.values.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got.values[i]), static_cast<double>(want.values[i]), bound)
        << i;
  }
}

// Every mode of a random tensor.
template <typename Value>
void expect_generic_mttkrp(GeneratedKernels& kernels, const Index& sizes, std::size_t rank,
                           std::size_t num_entries) {
  ThreadPool pool(2);
  const CooTensor tensor = test::random_tensor(sizes, num_entries, 7);
  const auto blocks = partition_blocks<Value>(tensor, pool);
  const auto factors = drawn_factors<Value>(sizes, rank);
  for (std::size_t mode = 0; mode < sizes.size(); ++mode) {
    SCOPED_TRACE("mode " + std::to_string(mode) + " rank " + std::to_string(rank));
    const auto pattern = mttkrp_pattern<Value>(sizes.size(), mode, factors[0].stride);
    const auto kernel = kernels.template mttkrp<Value>(pattern);
    ASSERT_NE(kernel, nullptr) << kernels.cache().reason();
    FactorMatrix<Value> got(sizes[mode], rank), want(sizes[mode], rank);
    std::fill(got.values.begin(), got.values.end(), Value{7});  // overwritten
    mttkrp<Value>(blocks, factors, mode, got, pool, kernel);
    mttkrp<Value>(blocks, factors, mode, want, pool);
    expect_near_generic(got, want);
  }
}

TEST_F(GeneratedKernelsTest, MttkrpIsTheGenericOneForEveryOrderModeRankAndType) {
  GeneratedKernels kernels(options());
  const Index sizes[] = {{30, 20}, {9, 80, 7}, {12, 3, 10, 6}, {4, 3, 5, 2, 6}, {3, 2, 4, 2, 3, 5}};
  for (const Index& shape : sizes) {
    expect_generic_mttkrp<float>(kernels, shape, 16, 501);
    expect_generic_mttkrp<double>(kernels, shape, 35, 66);
  }
  expect_generic_mttkrp<float>(kernels, {300, 200, 400}, 40, 30'000);  // many blocks
  expect_generic_mttkrp<float>(kernels, {5, 4}, 16, 0);
}

template <typename Value, typename Column, typename Stored = Value>
void expect_naive_rows(GeneratedKernels& kernels, const KernelPattern& pattern) {
  SCOPED_TRACE(key(pattern));
  const RowsFunction kernel = kernels.rows(pattern);
  ASSERT_NE(kernel, nullptr) << kernels.cache().reason();
  BlockRows<Value, Column, Stored> matrix(pattern, 23, 13);
  const RowsCall first = matrix.call(0, 9), rest = matrix.call(9, 22);  // the last row is not asked
  kernel(&first);
  kernel(&rest);
  const bool is_sddmm = pattern.product == KernelProduct::kSddmm;
  const std::vector<double> want = is_sddmm ? matrix.dots() : matrix.product();
  const std::size_t asked =
      is_sddmm ? matrix.begins[22] : 22 * pattern.block_rows * pattern.columns;
  const double epsilon = sizeof(Value) == 4 ? 2e-4 : 1e-11;
  for (std::size_t i = 0; i < matrix.out.size(); ++i) {
    const double expected = i < asked ? want[i] : 7.0;
    ASSERT_NEAR(static_cast<double>(matrix.out[i]), expected, epsilon) << i;
  }
}

void expect_naive(GeneratedKernels& kernels, const KernelPattern& p) {
  const bool is_wide = p.index == KernelIndex::kI64;
  if (p.value == KernelValue::kF32) {
    return is_wide ? expect_naive_rows<float, std::int64_t>(kernels, p)
                   : expect_naive_rows<float, std::int32_t>(kernels, p);
  }
  if (p.value == KernelValue::kBf16) {
    return is_wide ? expect_naive_rows<float, std::int64_t, Bf16>(kernels, p)
                   : expect_naive_rows<float, std::int32_t, Bf16>(kernels, p);
  }
  is_wide ? expect_naive_rows<double, std::int64_t>(kernels, p)
          : expect_naive_rows<double, std::int32_t>(kernels, p);
}

// A draw of the grammar that has every word: the whole would compile for minutes.
TEST_F(GeneratedKernelsTest, ProductsOverRowsAreTheNaiveLoops) {
  GeneratedKernels kernels(options());
  std::vector<KernelPattern> points = grammar_points(64);
  std::erase_if(points, [](const auto& p) {
    return p.product == KernelProduct::kMttkrp || p.product == KernelProduct::kAttention;
  });
  std::set<std::string> seen;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const KernelPattern& p = points[i];
    std::string words = std::to_string(static_cast<int>(p.product));
    for (const std::size_t word :
         {p.block_rows, static_cast<std::size_t>(p.end), p.fibre,
          std::size_t{p.value == KernelValue::kBf16 && p.end == KernelEnd::kNone && p.fibre < 2}}) {
      words += " " + std::to_string(word);
    }
    if (seen.insert(words).second || i % 97 == 0) expect_naive(kernels, p);
  }
  KernelPattern wide{KernelProduct::kSpmm, 2, 0, 80, 8, 4, KernelValue::kF32, KernelIndex::kI32,
                     KernelEnd::kBias};  // two whole tiles and a part
  expect_naive(kernels, wide);
}

// ttv and ttm with generated kernels for all classes against their own loops.
template <typename Value, typename Stored>
void expect_generic_fibres(GeneratedKernels& kernels, std::size_t first_class) {
  ThreadPool pool(3);
  CooTensor tensor = test::random_tensor({30, 40, 9}, 700, 5);
  const auto fibres = fibre_tensor<Value, Stored>(tensor, 1, pool);
  for (std::size_t c = 0; c < kFibreClasses; ++c) ASSERT_LT(fibres.bounds[c], fibres.bounds[c + 1]);
  const auto dense = drawn_factors<Value>({40}, 20);
  FibreKernels vector_kernels{}, matrix_kernels{};
  for (std::size_t c = first_class; c < kFibreClasses; ++c) {
    vector_kernels[c] = kernels.rows(fibres_pattern<Stored>(KernelProduct::kTtv, 1, c));
    matrix_kernels[c] = kernels.rows(fibres_pattern<Stored>(KernelProduct::kTtm, 32, c));
    ASSERT_TRUE(vector_kernels[c] != nullptr && matrix_kernels[c] != nullptr)
        << kernels.cache().reason();
  }
  std::vector<Value> x(40), y(fibres.num_fibres()), want_y(y.size());
  for (std::size_t i = 0; i < 40; ++i) x[i] = dense[0].row(i)[0];
  ttv<Value, Stored>(fibres, x, y, pool, vector_kernels);
  ttv<Value, Stored>(fibres, x, want_y, pool);
  FactorMatrix<Value> got(y.size(), 20), want(y.size(), 20), got_y(y.size(), 1), all_y(y.size(), 1);
  std::ranges::fill(got.values, Value{7});
  ttm<Value, Stored>(fibres, dense[0], got, pool, matrix_kernels);
  ttm<Value, Stored>(fibres, dense[0], want, pool);
  expect_near_generic(got, want);
  for (std::size_t f = 0; f < y.size(); ++f) {
    got_y.row(f)[0] = y[f];
    all_y.row(f)[0] = want_y[f];
  }
  expect_near_generic(got_y, all_y);
}

TEST_F(GeneratedKernelsTest, ServeTheProductsOverFibres) {
  GeneratedKernels kernels(options());
  expect_generic_fibres<float, float>(kernels, 0);
  expect_generic_fibres<double, double>(kernels, 3);
  expect_generic_fibres<float, Bf16>(kernels, 3);
}

// spmv, row_spmm and sddmm with a generated kernel against their own loops.
template <typename Value, typename Stored = Value>
void expect_generic_rows(GeneratedKernels& kernels) {
  ThreadPool pool(3);
  const auto matrix = row_matrix<Value, Stored>(test::random_tensor({70, 50}, 600, 5), pool);
  const auto dense = drawn_factors<Value>({70, 50}, 20);
  FactorMatrix<Value> x(50, 1), y(70, 1), want(70, 1);
  FactorMatrix<Value> got_rows(70, 20), want_rows(70, 20);
  std::vector<Value> plain(50), got(70), expected(70);
  for (std::size_t i = 0; i < 50; ++i) plain[i] = dense[1].row(i)[0];
  const auto of = [&](KernelProduct product, std::size_t stride) {
    return kernels.rows(rows_pattern<Stored>(product, stride));
  };
  const RowsFunction spmv_kernel = of(KernelProduct::kSpmv, 1);
  ASSERT_NE(spmv_kernel, nullptr) << kernels.cache().reason();
  spmv<Value>(matrix, plain, got, pool, spmv_kernel);
  spmv<Value>(matrix, plain, expected, pool);
  for (std::size_t i = 0; i < 70; ++i) {
    y.row(i)[0] = got[i];
    want.row(i)[0] = expected[i];
  }
  expect_near_generic(y, want);
  row_spmm<Value>(matrix, dense[1], got_rows, pool, of(KernelProduct::kSpmm, dense[1].stride));
  row_spmm<Value>(matrix, dense[1], want_rows, pool);
  expect_near_generic(got_rows, want_rows);
  FactorMatrix<Value> got_dots(matrix.values.size(), 1), want_dots(matrix.values.size(), 1);
  std::vector<Value> dots(matrix.values.size()), wanted(matrix.values.size());
  sddmm<Value>(matrix, dense[0], dense[1], dots, pool, of(KernelProduct::kSddmm, dense[0].stride));
  sddmm<Value>(matrix, dense[0], dense[1], wanted, pool);
  for (std::size_t e = 0; e < dots.size(); ++e) {
    got_dots.row(e)[0] = dots[e];
    want_dots.row(e)[0] = wanted[e];
  }
  expect_near_generic(got_dots, want_dots);
}

TEST_F(GeneratedKernelsTest, ServeTheProductsOverRows) {
  GeneratedKernels kernels(options());
  expect_generic_rows<float>(kernels);
  expect_generic_rows<double>(kernels);
  expect_generic_rows<float, Bf16>(kernels);
}

// Rows of more entries than are scored at once, without any, and with scores far apart.
template <typename Value, typename Stored = Value>
void expect_generic_attention(GeneratedKernels& kernels, std::size_t columns, Value scale) {
  ThreadPool pool(2);
  CooTensor pattern = test::random_tensor({40, 300}, 1500, 5);
  for (double& value : pattern.values) value /= 100;
  for (std::uint64_t column = 0; column < 300; ++column) pattern.append(Index{7, column}, 1.5);
  CooTensor tall({60, 300});  // rows 40 to 59 are empty
  for (const auto& [index, value] : test::entries_of(pattern)) tall.append(index, value);
  const auto matrix = row_matrix<Value, Stored>(tall, pool);
  const auto dense = drawn_factors<Value>({60, 300}, columns);
  const FactorMatrix<Value> mixed = dense[1];
  const SparseAttention<Value> inputs{&dense[0], &dense[1], &mixed, scale};
  FactorMatrix<Value> got(60, columns), want(60, columns);
  std::ranges::fill(got.values, Value{7});
  const RowsFunction kernel =
      kernels.rows(rows_pattern<Stored>(KernelProduct::kAttention, dense[0].stride));
  ASSERT_NE(kernel, nullptr) << kernels.cache().reason();
  sparse_attention<Value>(matrix, inputs, got, pool, kernel);
  sparse_attention<Value>(matrix, inputs, want, pool);
  expect_near_generic(got, want);
}

TEST_F(GeneratedKernelsTest, AttentionIsTheGenericOne) {
  GeneratedKernels kernels(options());
  for (const std::size_t columns : {16, 80}) {
    for (const float scale : {0.1f, 2.0f}) {
      SCOPED_TRACE(scale);
      expect_generic_attention<float>(kernels, columns, scale);
      expect_generic_attention<double>(kernels, columns, static_cast<double>(scale));
      expect_generic_attention<float, Bf16>(kernels, columns, scale);
    }
  }
}

TEST_F(GeneratedKernelsTest, OfRowsTheFasterIsMeasuredToo) {
  GeneratedKernels kernels(options());
  int generic = 0, generated = 0;
  const auto run = [&](RowsFunction kernel) { ++(kernel == nullptr ? generic : generated); };
  const KernelPattern pattern = rows_pattern<float>(KernelProduct::kSpmv, 1);
  EXPECT_EQ(kernels.faster_rows(pattern, run, 1), nullptr) << "one call repays no compilation";
  EXPECT_EQ(generated, 0);
  const RowsFunction chosen = kernels.faster_rows(pattern, run, 1e15);
  ASSERT_EQ(kernels.table().size(), 1u);
  EXPECT_EQ(kernels.table()[0].key, "spmv.c1.f32.i32");
  EXPECT_EQ(chosen != nullptr, kernels.table()[0].generated_pays());
  EXPECT_EQ(generated, 8) << "a first call, then seven turns";
  EXPECT_EQ(generic, 9);
  EXPECT_EQ(kernels.faster_rows(mttkrp_pattern<float>(3, 0, 16), run, 1e15), nullptr);
}

TEST_F(GeneratedKernelsTest, MeasuresBothOnceAndTakesTheFaster) {
  GeneratedKernels kernels(options());
  ThreadPool pool(1);
  const Index sizes{40, 50, 60};
  const auto blocks = partition_blocks<float>(test::random_tensor(sizes, 5000, 3), pool);
  const auto factors = drawn_factors<float>(sizes, 32);
  FactorMatrix<float> out(40, 32);
  EXPECT_EQ(kernels.faster_mttkrp<float>(blocks, factors, 0, out, pool, 1), nullptr);
  EXPECT_EQ(kernels.cache().stats().compiled, 0u) << "one call repays no compilation";
  const auto chosen = kernels.faster_mttkrp<float>(blocks, factors, 0, out, pool, 1e9);
  ASSERT_EQ(kernels.table().size(), 1u);
  EXPECT_EQ(kernels.table()[0].key, "mttkrp.o3.m0.c32.f32.u16");
  EXPECT_EQ(chosen != nullptr, kernels.table()[0].generated_pays());
  EXPECT_EQ(kernels.faster_mttkrp<float>(blocks, factors, 0, out, pool, 1), chosen);
  EXPECT_EQ(kernels.table().size(), 1u);
  EXPECT_EQ(kernels.cache().stats().compiled, 1u);
}

TEST_F(GeneratedKernelsTest, ThoseWhoseLibraryIsThereAreTakenForFewCallsToo) {
  ThreadPool pool(1);
  const Index sizes{40, 50};
  const auto blocks = partition_blocks<double>(test::random_tensor(sizes, 900, 3), pool);
  const auto factors = drawn_factors<double>(sizes, 16);
  FactorMatrix<double> out(50, 16);
  GeneratedKernels before(options());
  ASSERT_NE(before.mttkrp<double>(mttkrp_pattern<double>(2, 1, 16)), nullptr);
  GeneratedKernels kernels(options());
  kernels.faster_mttkrp<double>(blocks, factors, 1, out, pool, 1);
  EXPECT_EQ(kernels.table().size(), 1u);
}

TEST(KernelSpeed, PaysFromThreePercentOn) {
  EXPECT_TRUE((KernelSpeed{"", 1.0, 0.96}.generated_pays()));
  EXPECT_FALSE((KernelSpeed{"", 1.0, 0.98}.generated_pays()));
}

TEST(KernelPattern, TheGrammarEndsWhereItsWordsDo) {
  const KernelPattern mttkrp = mttkrp_pattern<float>(3, 1, 16);
  const KernelPattern spmm{
      KernelProduct::kSpmm, 2, 0, 32, 8, 8, KernelValue::kF64, KernelIndex::kI64,
      KernelEnd::kBiasSilu};
  EXPECT_EQ(key(mttkrp), "mttkrp.o3.m1.c16.f32.u16");
  EXPECT_EQ(key(spmm), "spmm.c32.b8x8.f64.i64.bias.silu");
  KernelPattern ttv = fibres_pattern<Bf16>(KernelProduct::kTtv, 1, 1);
  EXPECT_EQ(key(ttv), "ttv.n2.c1.bf16.i32");
  EXPECT_EQ(key(fibres_pattern<double>(KernelProduct::kTtm, 48, kFibreClasses - 1)),
            "ttm.c48.f64.i32");
  EXPECT_TRUE(is_in_grammar(ttv));
  EXPECT_TRUE(is_in_grammar(mttkrp) && is_in_grammar(spmm));
  const auto with = [](KernelPattern pattern, auto change) {
    change(pattern);
    return is_in_grammar(pattern);
  };
  EXPECT_FALSE(with(ttv, [](auto& p) { p.fibre = kMostEqualFibres + 1; }));
  EXPECT_FALSE(with(ttv, [](auto& p) { p.columns = 16; }));
  EXPECT_FALSE(with(ttv, [](auto& p) { p.product = KernelProduct::kTtm; }));
  EXPECT_FALSE(with(ttv, [](auto& p) { p.product = KernelProduct::kSpmv; }))
      << "rows of any length";
  EXPECT_FALSE(with(ttv, [](auto& p) { p.end = KernelEnd::kBias; }));
  EXPECT_FALSE(with(mttkrp, [](auto& p) { p.value = KernelValue::kBf16; }));
  EXPECT_FALSE(with(mttkrp, [](auto& p) { p.mode = 3; }));
  EXPECT_FALSE(with(mttkrp, [](auto& p) { p.order = 1, p.mode = 0; }));
  EXPECT_FALSE(with(mttkrp, [](auto& p) { p.order = 7; }));
  EXPECT_FALSE(with(mttkrp, [](auto& p) { p.columns = 24; }));
  EXPECT_FALSE(with(mttkrp, [](auto& p) { p.columns = 272; }));
  EXPECT_FALSE(with(mttkrp, [](auto& p) { p.index = KernelIndex::kI32; }));
  EXPECT_FALSE(with(mttkrp, [](auto& p) { p.end = KernelEnd::kBias; }));
  EXPECT_FALSE(with(spmm, [](auto& p) { p.block_rows = 3; }));
  EXPECT_FALSE(with(spmm, [](auto& p) { p.block_columns = 16; }));
  EXPECT_FALSE(with(spmm, [](auto& p) { p.order = 3; }));
  std::set<std::string> keys;
  for (const KernelPattern& point : grammar_points(32)) {
    EXPECT_TRUE(is_in_grammar(point)) << key(point);
    EXPECT_TRUE(keys.insert(key(point)).second) << key(point);
  }
}

}  // namespace
}  // namespace tandem::sparse
