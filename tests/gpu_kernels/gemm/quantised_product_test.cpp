// SPDX-License-Identifier: Apache-2.0
//
// Few rows times quantised weights against double-precision loops over the dequantised weight and
// the rows as their int8 blocks stand for them: what differs is the rounding of f32 sums.
#include "gemm/quantised_product.h"

#include "gpu_kernels/gemm/few_rows_case.h"

namespace tandem::gpu_kernels {
namespace {

constexpr double kTolerance = 2e-6;

std::vector<HostWeight> random_targets(DType type, std::span<const int> outputs, int width) {
  std::vector<HostWeight> weights;
  for (const int out_features : outputs) {
    weights.push_back(
        random_weight(type, out_features, width, static_cast<unsigned>(out_features + width)));
  }
  return weights;
}

// Runs the product; which[t]: results of each target.
std::vector<std::vector<float>> run(const TypePair& type, int rows, std::span<const int> outputs,
                                    int width, const HostQ8Rows& x) {
  const std::vector<HostWeight> weights = random_targets(type.host, outputs, width);
  FewRowsTargets targets(weights, x.values);
  DeviceArray<std::int8_t> q(x.q);
  DeviceArray<Q8Note> notes(x.notes);
  QuantisedProduct job;
  job.type = type.device;
  job.rows = rows;
  job.in_features = width;
  job.x = q.data();
  job.notes = notes.data();
  job.num_targets = static_cast<int>(outputs.size());
  job.workspace = targets.workspace();
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> packed;
  for (std::size_t t = 0; t < outputs.size(); ++t) {
    DeviceArray<std::byte> file(weights[t].data);
    packed.push_back(
        std::make_unique<DeviceArray<std::byte>>(packed_bytes(type.device, outputs[t], width)));
    EXPECT_EQ(pack_rows({type.device, outputs[t], width, 0, outputs[t], file.data(),
                         packed.back()->data()},
                        nullptr),
              cudaSuccess);
    file.download();
    job.targets[t] = targets.target(t, packed.back()->data());
  }
  EXPECT_EQ(quantised_product(job, nullptr), cudaSuccess);
  targets.expect_near(kTolerance);
  std::vector<std::vector<float>> results;
  for (std::size_t t = 0; t < outputs.size(); ++t) results.push_back(targets.result(t));
  return results;
}

void expect_product(const TypePair& type, int rows, std::span<const int> outputs, int width) {
  SCOPED_TRACE(testing::Message() << dtype_name(type.host) << " " << rows << " rows of " << width);
  run(type, rows, outputs, width,
      quantise_rows(random_floats(static_cast<std::size_t>(rows) * width, 9)));
}

TEST_P(KernelTest, MultipliesRowsByQuantisedWeightsOfEveryType) {
  for (const TypePair& type : kQuantisedTypes) {
    for (const int rows : {1, 2, 3, 4, 5, 8, 9, 16}) {
      const int outputs[] = {21, 3};
      expect_product(type, rows, outputs, 512);
    }
  }
}

TEST_P(KernelTest, MultipliesWidthsThatEndInsideAGroupOfSlabs) {
  for (const TypePair& type : kQuantisedTypes) {
    if (dtype_block_values(type.host) != 32) continue;
    for (const int width : {32, 64, 32 * 7, 32 * 11}) {
      for (const int rows : {1, 6}) {
        const int outputs[] = {17};
        expect_product(type, rows, outputs, width);
      }
    }
  }
}

TEST_P(KernelTest, CutsLongInputsOverBlocksAndAddsTheirPartsInOrder) {
  for (const TypePair& type : {kQuantisedTypes[0], kQuantisedTypes[6], kQuantisedTypes[8]}) {
    for (const int rows : {1, 4, 5, 12}) {
      const int outputs[] = {20, 16};
      expect_product(type, rows, outputs, 8192);
    }
  }
}

TEST_P(KernelTest, MultipliesFourTargetsInOneLaunch) {
  for (const int rows : {2, 7}) {
    const int outputs[] = {48, 16, 5, 33};
    expect_product(kQuantisedTypes[6], rows, outputs, 256);
    expect_product(kQuantisedTypes[1], rows, outputs, 96);
  }
}

TEST_P(KernelTest, ManyPanelsAreNotCut) {
  const int outputs[] = {16 * 130};
  expect_product(kQuantisedTypes[1], 1, outputs, 64);
  expect_product(kQuantisedTypes[1], 5, outputs, 64);
}

// The bits of a row, alone and among others, within each variant.
TEST_P(KernelTest, ARowsResultDoesNotDependOnTheOthers) {
  constexpr std::size_t kWidth = 4096;
  const std::vector<float> x = random_floats(16 * kWidth, 31);
  const int outputs[] = {19};
  for (const TypePair& type : {kQuantisedTypes[6], kQuantisedTypes[8]}) {
    for (const auto& [few, many] : {std::pair{1, 4}, std::pair{5, 8}, std::pair{5, 16}}) {
      const auto rows_of = [&](int rows) {
        return std::vector<float>(x.begin(),
                                  x.begin() + static_cast<std::ptrdiff_t>(rows * kWidth));
      };
      const auto alone = run(type, few, outputs, kWidth, quantise_rows(rows_of(few)));
      const auto among = run(type, many, outputs, kWidth, quantise_rows(rows_of(many)));
      for (std::size_t i = 0; i < alone[0].size(); ++i) ASSERT_EQ(alone[0][i], among[0][i]) << i;
    }
  }
}

TEST_P(KernelTest, ANaNBlockMakesNaNOfItsRowOnly) {
  for (const int rows : {2, 6}) {
    HostQ8Rows x = quantise_rows(random_floats(static_cast<std::size_t>(rows) * 256, 9));
    const std::vector<HostWeight> weights = random_targets(DType::kQ4_K, std::vector<int>{16}, 256);
    FewRowsTargets targets(weights, x.values);
    x.notes[8 + 3].scale = x.notes[8 + 3].scaled_sum = std::nanf("");
    DeviceArray<std::int8_t> q(x.q);
    DeviceArray<Q8Note> notes(x.notes);
    DeviceArray<std::byte> file(weights[0].data), packed(packed_bytes(StoredType::kQ4_K, 16, 256));
    ASSERT_EQ(pack_rows({StoredType::kQ4_K, 16, 256, 0, 16, file.data(), packed.data()}, nullptr),
              cudaSuccess);
    QuantisedProduct job;
    job.type = StoredType::kQ4_K;
    job.rows = rows;
    job.in_features = 256;
    job.x = q.data();
    job.notes = notes.data();
    job.num_targets = 1;
    job.targets[0] = targets.target(0, packed.data());
    job.workspace = targets.workspace();
    ASSERT_EQ(quantised_product(job, nullptr), cudaSuccess);
    const std::vector<float> out = targets.result(0);
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(std::isnan(out[i]), i / 16 == 1) << i;
  }
}

TEST_P(KernelTest, QuantisedProductRefusesShapesOutsideTheStatedOnes) {
  DeviceArray<std::byte> workspace(kFewRowsWorkspaceBytes);
  QuantisedProduct job;
  job.rows = 1;
  job.in_features = 64;
  job.num_targets = 1;
  job.targets[0].out_features = 16;
  job.workspace = workspace.data();
  const auto refuses = [&](auto change) {
    QuantisedProduct changed = job;
    change(changed);
    return quantised_product(changed, nullptr) == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(refuses([](auto& j) { j.rows = 0; }));
  EXPECT_TRUE(refuses([](auto& j) { j.rows = kMaxQuantisedRows + 1; }));
  EXPECT_TRUE(refuses([](auto& j) { j.in_features = 40; }));
  EXPECT_TRUE(refuses([](auto& j) { j.type = StoredType::kQ6_K; }));
  EXPECT_TRUE(refuses([](auto& j) { j.type = StoredType::kBF16; }));
  EXPECT_TRUE(refuses([](auto& j) { j.num_targets = 0; }));
  EXPECT_TRUE(refuses([](auto& j) { j.num_targets = kMaxTargets + 1; }));
  EXPECT_TRUE(refuses([](auto& j) { j.targets[0].out_features = 0; }));
  EXPECT_TRUE(refuses([](auto& j) { j.workspace = nullptr; }));
}

}  // namespace
}  // namespace tandem::gpu_kernels
