// SPDX-License-Identifier: Apache-2.0
//
// 16-bit wire types: sums rounded once, means divided before they are; and maxima by presence.
#include <gtest/gtest.h>

#include <limits>

#include "host/collectives/scheme/supports.h"
#include "support/ranks.h"

namespace tandem::test {
namespace {

using namespace tandem::collectives;

std::string refusal_of(const Scheme& scheme, const SchemeSettings& settings, int world) {
  Problem problem;
  problem.world = world;
  problem.domain = {2000, 1};
  problem.wire = settings.wire;
  problem.reduction = settings.reduction;
  fill_independent(problem, 0.1);
  return scheme.refusal(problem);
}

// By rank.
std::vector<Reduced> reduce(const Scheme& scheme, const std::vector<SparseVector>& inputs,
                            const SchemeSettings& settings) {
  std::vector<Reduced> reduced(inputs.size());
  run_ranks(static_cast<int>(inputs.size()), [&](std::unique_ptr<Transport> transport) {
    Communicator ranks(*transport, 1, Deadline::after(std::chrono::seconds(60)));
    const auto rank = static_cast<std::size_t>(transport->rank());
    SchemeMemory memory;
    const auto aggregator = make_cpu_aggregator();
    reduced[rank] = scheme.allreduce(ranks, inputs[rank], settings, memory, *aggregator);
  });
  return reduced;
}

// Every rank holds units 0 to 599 of 2,000: SparCML's recursive doubling turns dense on the way.
std::vector<SparseVector> constant_inputs(int world, float first, float others) {
  std::vector<SparseVector> inputs;
  for (int rank = 0; rank < world; ++rank) {
    inputs.emplace_back(Domain{2000, 1}, DType::kF32);
    inputs.back().resize(600);
    for (std::uint32_t unit = 0; unit < 600; ++unit) {
      inputs.back().indices<std::uint32_t>()[unit] = unit;
      inputs.back().values<float>()[unit] = rank == 0 ? first : others;
    }
  }
  return inputs;
}

void expect_everywhere(const std::vector<SparseVector>& inputs, SchemeSettings settings,
                       float expected) {
  const int world = static_cast<int>(inputs.size());
  settings.server_count = 3;
  for (int rank = 0; rank < world; ++rank) settings.node_of_rank.push_back(rank / 3);
  for (const Scheme* scheme : all_schemes()) {
    SCOPED_TRACE(std::string(scheme->name()) + ", " + std::to_string(world) + " ranks, wire " +
                 std::string(dtype_name(settings.wire)));
    for (const Reduced& reduced : reduce(*scheme, inputs, settings)) {
      const SparseVector sum = present_entries(reduced, settings.reduction);
      ASSERT_EQ(sum.num_entries(), 600u);
      for (const float value : sum.values<float>()) ASSERT_EQ(value, expected);
    }
  }
}

TEST(SchemeNumerics, SixteenBitSumsAreRoundedOnceByEveryScheme) {
  for (const int world : {16, 13}) {
    SchemeSettings settings;
    // Each 1 alone vanishes beside 256 in bf16 and beside 2048 in f16.
    settings.wire = DType::kBF16;
    const float ones = static_cast<float>(world - 1);
    expect_everywhere(constant_inputs(world, 256, 1), settings,
                      bf16_to_f32(f32_to_bf16(256 + ones)));
    settings.wire = DType::kF16;
    expect_everywhere(constant_inputs(world, 2048, 1), settings,
                      f16_to_f32(f32_to_f16(2048 + ones)));
  }
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(271)), 272);
  EXPECT_EQ(f16_to_f32(f32_to_f16(2063)), 2064);
}

TEST(SchemeNumerics, MeansAreDividedBeforeTheirSumIsRounded) {
  for (const int world : {16, 13, 1}) {
    SchemeSettings settings;
    settings.reduction = Reduction::kMean;
    settings.wire = DType::kF16;  // 16 x 40,000 is beyond f16's 65,504
    expect_everywhere(constant_inputs(world, 40'000, 40'000), settings, 40'000);
  }
}

TEST(SchemeNumerics, MeansOfIntegersRoundDown) {
  std::vector<SparseVector> inputs;
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    inputs.push_back(make_vector({100, 1}, DType::kU64, {3, 7}, rank));
    for (std::uint64_t& value : inputs.back().values<std::uint64_t>()) value = 2 + rank % 2;
  }
  SchemeSettings settings;
  settings.reduction = Reduction::kMean;
  settings.wire = DType::kU64;
  for (const Scheme* scheme : all_schemes()) {
    SCOPED_TRACE(scheme->name());
    for (const Reduced& reduced : reduce(*scheme, inputs, settings)) {
      const SparseVector mean = present_entries(reduced, Reduction::kMean);
      ASSERT_EQ(mean.num_entries(), 2u);
      EXPECT_EQ(mean.values<std::uint64_t>()[0], 2u);  // 10 / 4
    }
  }
}

// Units in all amounts, every third of them the least value there is; others -5 - rank.
template <typename T>
std::vector<SparseVector> inputs_with_least_values(DType type, std::uint64_t num_units, int world) {
  std::vector<SparseVector> inputs;
  for (int rank = 0; rank < world; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const auto units = make_supports(Support::kEqual, num_units, world, 1)[at];
    inputs.push_back(make_vector({num_units, 1}, type, units, at));
    const auto values = inputs.back().values<T>();
    for (std::size_t entry = 0; entry < values.size(); ++entry) {
      if (units[entry] % 3 == 0) values[entry] = identity_of<T>(Reduction::kMax);
    }
  }
  return inputs;
}

template <typename T>
void expect_maxima_by_presence(DType type, DType wire, std::uint64_t num_units, Codec codec) {
  const int world = 5;
  const std::vector<SparseVector> inputs = inputs_with_least_values<T>(type, num_units, world);
  SchemeSettings settings;
  settings.reduction = Reduction::kMax;
  settings.wire = wire;
  settings.codec = codec;
  settings.node_of_rank = {0, 0, 1, 1, 1};
  for (const Scheme* scheme : all_schemes()) {
    if (!refusal_of(*scheme, settings, world).empty()) continue;
    SCOPED_TRACE(std::string(scheme->name()) + ", " + std::string(dtype_name(wire)) + ", codec " +
                 std::string(codec_name(codec)) + ", " + std::to_string(num_units) + " units");
    for (const Reduced& reduced : reduce(*scheme, inputs, settings)) {
      ASSERT_TRUE(std::holds_alternative<SparseVector>(reduced));
      const auto& maxima = std::get<SparseVector>(reduced);
      ASSERT_EQ(maxima.num_entries(), inputs[0].num_entries());
      for (std::size_t entry = 0; entry < maxima.num_entries(); ++entry) {
        T expected = inputs[0].values<T>()[entry];
        for (const SparseVector& own : inputs) {
          expected = std::max(expected, own.values<T>()[entry]);
        }
        ASSERT_EQ(maxima.index_at(entry), inputs[0].index_at(entry));
        ASSERT_EQ(maxima.values<T>()[entry], expected);
      }
    }
  }
}

TEST(SchemeNumerics, MaximaKeepUnitsWhoseMaximumIsTheLeastValue) {
  // 151 units of which 150 are held: blocks and dense would take least.
  for (const std::uint64_t num_units : {std::uint64_t{151}, std::uint64_t{5000}}) {
    for (const Codec codec : {Codec::kAuto, Codec::kBlocks, Codec::kDense, Codec::kBitmap}) {
      expect_maxima_by_presence<float>(DType::kF32, DType::kF32, num_units, codec);
      expect_maxima_by_presence<float>(DType::kF32, DType::kF16, num_units, codec);
      expect_maxima_by_presence<double>(DType::kF64, DType::kF64, num_units, codec);
      expect_maxima_by_presence<std::uint64_t>(DType::kU64, DType::kU64, num_units, codec);
    }
  }
}

TEST(SchemeNumerics, SchemesThatTellAbsenceByValueRefuseMaxAndSayWhy) {
  SchemeSettings settings;
  settings.reduction = Reduction::kMax;
  std::vector<std::string> refusing;
  for (const Scheme* scheme : all_schemes()) {
    const std::string refusal = refusal_of(*scheme, settings, 4);
    if (refusal.empty()) continue;
    EXPECT_NE(refusal.find("absent"), std::string::npos) << refusal;
    refusing.emplace_back(scheme->name());
    settings.reduction = Reduction::kSum;
    EXPECT_EQ(refusal_of(*scheme, settings, 4), "");
    settings.reduction = Reduction::kMax;
  }
  const std::vector<std::string> expected = {"dense_ring", "dense_halving_doubling",
                                             "sparcml_split_dense", "omnireduce"};
  EXPECT_EQ(refusing, expected);
}

}  // namespace
}  // namespace tandem::test
