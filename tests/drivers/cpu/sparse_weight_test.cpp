// SPDX-License-Identifier: Apache-2.0
//
// Which weights are kept without their zeros, what they keep, and the measured table that decides.
#include <gmock/gmock.h>

#include "common/error.h"
#include "compute_fixture.h"
#include "cpu/kernels/sparse_products/sparse_rows.h"
#include "cpu/options.h"
#include "cpu/sparse_choice.h"
#include "cpu/weight.h"

namespace tandem::device {
namespace {

using cpu::CpuWeight;
using cpu::SparseChoice;
using cpu::SparseMode;
using cpu::SparseSpeed;
using testing::ElementsAre;

// [out, in] of f32, of which every `one_of`-th value is not zero.
std::vector<float> thinned(std::int64_t out, std::int64_t in, std::size_t one_of) {
  std::vector<float> values(static_cast<std::size_t>(out * in));
  for (std::size_t i = 0; i < values.size(); i += one_of) values[i] = static_cast<float>(i + 1);
  return values;
}

WeightSource source_of(const std::vector<float>& values, std::int64_t out, std::int64_t in) {
  return {DType::kF32, out, in, reinterpret_cast<const std::byte*>(values.data())};
}

TEST(CpuSparseWeight, TakesTheValuesThatAreNotZeroAndAByteForThePlaceOfEach) {
  cpu::Team team(2);
  SparseChoice always(SparseMode::kAlways, {});
  const auto values = thinned(96, 640, 10);
  const CpuWeight weight(source_of(values, 96, 640), team, &always);
  ASSERT_NE(weight.sparse(), nullptr);
  const std::size_t counts = 3 * 2, places = 64, slack = 6;
  EXPECT_EQ(weight.size_bytes(), 96u * ((counts + places + slack + 64 * 4 + 7) / 8 * 8));
  EXPECT_DOUBLE_EQ(weight.sparse()->zeros(), 0.9);
  EXPECT_EQ(weight.sparse()->few_rows(), 7u);
  EXPECT_FALSE(weight.borrows_source());
}

TEST(CpuSparseWeight, StaysWholeWhereTheFormDoesNotFit) {
  cpu::Team team(2);
  SparseChoice always(SparseMode::kAlways, {}), never(SparseMode::kNever, {});
  const auto values = thinned(96, 640, 10);
  const auto wide = thinned(2, 65536, 10);
  EXPECT_EQ(CpuWeight(source_of(wide, 2, 65536), team, &always).sparse(), nullptr)
      << "counts have 16 bits";
  EXPECT_NE(CpuWeight(source_of(wide, 2, 65535), team, &always).sparse(), nullptr);
  const CpuWeight vector(source_of(values, 1, 640), team, &always);
  EXPECT_EQ(vector.sparse(), nullptr);
  const CpuWeight off(source_of(values, 96, 640), team, &never);
  EXPECT_EQ(off.sparse(), nullptr);
  const CpuWeight unasked(source_of(values, 96, 640), team);
  EXPECT_EQ(unasked.sparse(), nullptr);
  WeightSource table = source_of(values, 96, 640);
  table.role = WeightRole::kTable;
  EXPECT_EQ(CpuWeight(table, team, &always).sparse(), nullptr);
  const auto dense = thinned(96, 640, 1);
  EXPECT_EQ(CpuWeight(source_of(dense, 96, 640), team, &always).sparse(), nullptr);
  WeightSource narrow = source_of(values, 16, 640);
  narrow.dtype = DType::kF8E4M3;
  EXPECT_EQ(CpuWeight(narrow, team, &always).sparse(), nullptr);
}

// [96, 640] of q8_0, every tenth value of which is `value`.
std::vector<std::byte> quantized(float value) {
  std::vector<float> values = thinned(96, 640, 10);
  for (float& each : values) each = each == 0 ? 0 : value;
  std::vector<std::byte> bytes(dtype_row_bytes(DType::kQ8_0, values.size()));
  quantize_row(DType::kQ8_0, values.data(), bytes.data(), values.size());
  return bytes;
}

TEST(CpuSparseWeight, QuantizedValuesAreF16WhereItHasTheRange) {
  cpu::Team team(2);
  SparseChoice always(SparseMode::kAlways, {});
  const auto dtype_of = [&](float value) {
    const std::vector<std::byte> bytes = quantized(value);
    const CpuWeight weight({DType::kQ8_0, 96, 640, bytes.data()}, team, &always);
    EXPECT_DOUBLE_EQ(weight.sparse()->zeros(), 0.9);
    return weight.sparse()->dtype();
  };
  EXPECT_EQ(dtype_of(1.0f), DType::kF16);
  EXPECT_EQ(dtype_of(60000.0f), DType::kF16);
  EXPECT_EQ(dtype_of(70000.0f), DType::kF32);
  EXPECT_EQ(dtype_of(0x1p-11f), DType::kF16);
  EXPECT_EQ(dtype_of(0x1p-13f), DType::kF32);
}

TEST(CpuSparseWeight, ATableThatIsAlsoAProductKeepsItsRows) {
  cpu::Team team(2);
  SparseChoice always(SparseMode::kAlways, {});
  for (const bool transient : {false, true}) {
    auto values = thinned(96, 640, 10);
    WeightSource both = source_of(values, 96, 640);
    both.role = WeightRole::kBoth;
    both.transient = transient;
    const CpuWeight weight(both, team, &always);
    ASSERT_NE(weight.sparse(), nullptr);
    ASSERT_TRUE(weight.has_rows());
    EXPECT_EQ(weight.borrows_source(), !transient);
    if (transient) std::fill(values.begin(), values.end(), 0.0f);
    const auto* row = reinterpret_cast<const float*>(weight.row(1));
    EXPECT_EQ(row[10], 651.0f);
  }
}

TEST(CpuSparseWeight, OfATransientSourceDoesNotReadItLater) {
  cpu::Team team(2);
  SparseChoice always(SparseMode::kAlways, {});
  auto values = thinned(96, 640, 10);
  WeightSource passing = source_of(values, 96, 640);
  passing.transient = true;
  const CpuWeight weight(passing, team, &always);
  EXPECT_FALSE(weight.has_rows());
  EXPECT_TRUE(weight.multiplies());
}

TEST(CpuSparseWeight, ARowIsCountsPlacesZerosAndValues) {
  std::vector<float> row(300);
  row[3] = 1;
  row[255] = 2;
  row[299] = 3;
  const std::size_t bytes = cpu::sparse_row_bytes(DType::kF32, 300, 3);
  std::vector<std::byte> packed(bytes, std::byte{0xff});
  cpu::pack_sparse_row(DType::kF32, reinterpret_cast<const std::byte*>(row.data()), 300,
                       packed.data());
  const cpu::SparseRow parts(packed.data(), cpu::sparse_blocks(300));
  EXPECT_THAT(std::vector(parts.ends, parts.ends + 2), ElementsAre(2, 3));
  EXPECT_THAT(std::vector(parts.places, parts.places + 6), ElementsAre(3, 255, 43, 0, 0, 0));
  const auto* values = reinterpret_cast<const float*>(parts.values);
  EXPECT_THAT(std::vector(values, values + 3), ElementsAre(1, 2, 3));
}

TEST(CpuSparseWeight, TakesMoreRowsByTheKernelForFewTheFewerZerosThereAre) {
  cpu::Team team(2);
  SparseChoice always(SparseMode::kAlways, {});
  const auto half = thinned(96, 640, 2), quarter = thinned(96, 640, 4);
  EXPECT_EQ(CpuWeight(source_of(half, 96, 640), team, &always).sparse()->few_rows(), 15u);
  EXPECT_EQ(CpuWeight(source_of(quarter, 96, 640), team, &always).sparse()->few_rows(), 10u);
}

class Measured {
 public:
  explicit Measured(double ratio) : ratio_(ratio) {}
  SparseChoice choice(SparseMode mode = SparseMode::kAuto) {
    return {mode, [this](DType dtype, double zeros) {
              asked_.push_back(zeros);
              return SparseSpeed{dtype, zeros, 1.0, ratio_};
            }};
  }
  std::vector<double> asked_;

 private:
  double ratio_;
};

TEST(SparseChoice, TakesTheFasterFormAndMeasuresEachStepOnce) {
  Measured fast(0.5);
  SparseChoice choice = fast.choice();
  EXPECT_TRUE(choice.pays(DType::kF32, 0.93));
  EXPECT_TRUE(choice.pays(DType::kF32, 0.895));
  EXPECT_TRUE(choice.pays(DType::kF32, 0.935));
  EXPECT_TRUE(choice.pays(DType::kF32, 0.99));
  EXPECT_TRUE(choice.pays(DType::kBF16, 0.90));
  EXPECT_THAT(fast.asked_, ElementsAre(0.9, 0.95, 0.9));
  EXPECT_EQ(choice.table().size(), 3u);
}

TEST(SparseChoice, KeepsTheWholeMatrixUnlessTheGainExceedsTheNoise) {
  Measured even(0.97), slow(1.5);
  EXPECT_FALSE(even.choice().pays(DType::kF32, 0.9));
  EXPECT_FALSE(slow.choice().pays(DType::kF32, 0.9));
}

TEST(SparseChoice, EmptiesTheLastCacheWithTwiceAsMuch) {
  EXPECT_EQ(cpu::wash_bytes(32 << 20), std::size_t{64} << 20);
  EXPECT_EQ(cpu::wash_bytes(std::size_t{1} << 30), std::size_t{256} << 20);
}

TEST(SparseChoice, AsksNothingOfMatricesWithFewZeros) {
  Measured fast(0.1);
  SparseChoice choice = fast.choice();
  EXPECT_FALSE(choice.pays(DType::kF32, 0.39));
  EXPECT_TRUE(choice.pays(DType::kF32, 0.41));
  EXPECT_THAT(fast.asked_, ElementsAre(0.4));
}

// Three bytes for a value that is kept: a Q4_0 matrix of 4.5 bits a value is smaller from 82 % on.
TEST(SparseChoice, KeepsTheWholeMatrixWhereThatTakesLessMemory) {
  Measured fast(0.1);
  SparseChoice choice = fast.choice();
  EXPECT_FALSE(choice.pays(DType::kQ4_0, 0.8));
  EXPECT_TRUE(choice.pays(DType::kQ4_0, 0.82));
  EXPECT_FALSE(choice.pays(DType::kQ8_0, 0.6));
  EXPECT_TRUE(choice.pays(DType::kQ8_0, 0.7));
  EXPECT_TRUE(fast.choice(SparseMode::kAlways).pays(DType::kQ4_0, 0.5));
  EXPECT_DOUBLE_EQ(cpu::sparse_value_bytes(DType::kF32, 0.9), 5 * (1 - 0.9) + 1.0 / 128);
}

TEST(SparseChoice, MayBeForced) {
  Measured slow(2.0), fast(0.1);
  EXPECT_TRUE(slow.choice(SparseMode::kAlways).pays(DType::kF32, 0.5));
  EXPECT_FALSE(fast.choice(SparseMode::kNever).pays(DType::kF32, 0.99));
  EXPECT_FALSE(fast.choice(SparseMode::kNever).looks_for_zeros());
  EXPECT_TRUE(slow.asked_.empty() && fast.asked_.empty());
  EXPECT_EQ(cpu::sparse_mode("auto"), SparseMode::kAuto);
  EXPECT_EQ(cpu::sparse_mode("always"), SparseMode::kAlways);
  EXPECT_EQ(cpu::sparse_mode("never"), SparseMode::kNever);
  EXPECT_THROW(cpu::sparse_mode("often"), Error);
}

TEST(SparseChoice, OfADeviceMeasuresWhenAModelHasZerosAndSaysSo) {
  std::vector<std::string> notes;
  const auto device = cpu_backend().open(
      0, {.num_threads = 2, .note = [&](const std::string& line) { notes.push_back(line); }});
  const auto unit = device->make_compute_unit();
  const auto dense = thinned(64, 640, 1), sparse = thinned(64, 640, 10);
  (void)unit->load(source_of(dense, 64, 640));
  EXPECT_TRUE(notes.empty());
  (void)unit->load(source_of(sparse, 64, 640));
  (void)unit->load(source_of(sparse, 64, 640));
  EXPECT_THAT(notes,
              ElementsAre(testing::MatchesRegex(
                  "f32 weights with 90 % zeros: [0-9]+\\.[0-9] times as fast without them")));
}

}  // namespace
}  // namespace tandem::device
