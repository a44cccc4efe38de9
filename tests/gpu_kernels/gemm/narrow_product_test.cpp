// SPDX-License-Identifier: Apache-2.0
//
// Few rows times weights of floats against double-precision loops over the same rounded values:
// what differs is the rounding of f32 sums.
#include "gemm/narrow_product.h"

#include "gpu_kernels/gemm/few_rows_case.h"

namespace tandem::gpu_kernels {
namespace {

constexpr double kTolerance = 3e-6;

// Rows as the kernel of a type reads them, and what they stand for.
struct Rows {
  std::vector<std::byte> bytes;
  std::vector<float> values;
};

Rows rows_for(DType type, const std::vector<float>& x) {
  Rows rows;
  if (type == DType::kF32) {
    rows.values = x;
    rows.bytes.resize(x.size() * 4);
    std::memcpy(rows.bytes.data(), x.data(), rows.bytes.size());
    return rows;
  }
  rows.bytes.resize(x.size() * 2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is_half = type == DType::kF16;
    const std::uint16_t bits = is_half ? f32_to_f16(x[i]) : f32_to_bf16(x[i]);
    rows.values.push_back(is_half ? f16_to_f32(bits) : bf16_to_f32(bits));
    std::memcpy(rows.bytes.data() + i * 2, &bits, 2);
  }
  return rows;
}

std::vector<float> run(const TypePair& type, int rows, std::span<const int> outputs, int width,
                       const std::vector<float>& x_values) {
  const Rows x = rows_for(type.host, x_values);
  std::vector<HostWeight> weights;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> device_weights;
  std::vector<std::unique_ptr<DeviceArray<float>>> scales;
  for (const int out_features : outputs) {
    HostWeight& weight = weights.emplace_back(
        random_weight(type.host, out_features, width, static_cast<unsigned>(out_features)));
    device_weights.push_back(std::make_unique<DeviceArray<std::byte>>(weight.data));
    if (type.host != DType::kF8E4M3) continue;
    const std::vector<float> scale = random_floats(static_cast<std::size_t>(out_features), 71);
    scales.push_back(std::make_unique<DeviceArray<float>>(scale));
    for (std::size_t i = 0; i < weight.values.size(); ++i) {
      weight.values[i] *= scale[i / static_cast<std::size_t>(width)];
    }
  }
  FewRowsTargets targets(weights, x.values);
  DeviceArray<std::byte> device_x(x.bytes);
  NarrowProduct job;
  job.type = type.device;
  job.rows = rows;
  job.in_features = width;
  job.x = device_x.data();
  job.num_targets = static_cast<int>(outputs.size());
  job.workspace = targets.workspace();
  for (std::size_t t = 0; t < outputs.size(); ++t) {
    job.targets[t] =
        targets.target(t, device_weights[t]->data(), scales.empty() ? nullptr : scales[t]->data());
  }
  EXPECT_EQ(narrow_product(job, nullptr), cudaSuccess);
  targets.expect_near(kTolerance);
  return targets.result(0);
}

void expect_product(const TypePair& type, int rows, std::span<const int> outputs, int width) {
  SCOPED_TRACE(testing::Message() << dtype_name(type.host) << " " << rows << " rows of " << width);
  run(type, rows, outputs, width, random_floats(static_cast<std::size_t>(rows) * width, 9));
}

TEST_P(KernelTest, MultipliesRowsByNarrowFloats) {
  for (const TypePair& type : kFloatTypes) {
    for (const int rows : {1, 2, 3, 5, 8}) {
      const int outputs[] = {21, 3};
      expect_product(type, rows, outputs, 512);
    }
  }
}

TEST_P(KernelTest, MultipliesWidthsThatEndInsideATile) {
  for (const TypePair& type : kFloatTypes) {
    for (const int width : {16, 32, 80, 208, 1040}) {
      const int outputs[] = {17};
      expect_product(type, 3, outputs, width);
    }
  }
}

TEST_P(KernelTest, CutsLongRowsOverBlocks) {
  for (const TypePair& type : kFloatTypes) {
    const int outputs[] = {20, 16, 7, 16};
    expect_product(type, 2, outputs, 8192);
  }
}

TEST_P(KernelTest, ManyPanelsOfFloatsAreNotCut) {
  const int outputs[] = {16 * 130 + 3};
  for (const TypePair& type : kFloatTypes) expect_product(type, 1, outputs, 64);
}

TEST_P(KernelTest, ARowsBitsDoNotDependOnTheOtherRows) {
  constexpr int kWidth = 2048;
  const std::vector<float> x = random_floats(8 * kWidth, 31);
  const int outputs[] = {19};
  for (const TypePair& type : kFloatTypes) {
    const std::vector<float> among = run(type, 8, outputs, kWidth, x);
    for (const int rows : {1, 3}) {
      const std::vector<float> alone =
          run(type, rows, outputs, kWidth, {x.begin(), x.begin() + rows * kWidth});
      for (std::size_t i = 0; i < 19; ++i) {
        // what they are added to differs from row to row but not from call to call
        ASSERT_EQ(alone[i], among[i]) << dtype_name(type.host) << " " << i;
      }
    }
  }
}

// Scales of a weight in blocks of `outputs` x `inputs`, with which its values are multiplied.
struct Blocks {
  int outputs, inputs;

  std::vector<float> scale(HostWeight& weight) const {
    const auto width = static_cast<std::size_t>(weight.in_features);
    const auto height = static_cast<std::size_t>(weight.out_features);
    const auto block_outputs = static_cast<std::size_t>(outputs);
    const auto block_inputs = static_cast<std::size_t>(inputs);
    const std::size_t per_row = (width - 1) / block_inputs + 1;
    std::vector<float> scales = random_floats(((height - 1) / block_outputs + 1) * per_row, 71);
    for (std::size_t i = 0; i < weight.values.size(); ++i) {
      weight.values[i] *= scales[i / width / block_outputs * per_row + i % width / block_inputs];
    }
    return scales;
  }
};

// The last blocks are smaller; the second target has a scale per output.
void expect_blocks(int rows, int width, const Blocks& blocks) {
  SCOPED_TRACE(testing::Message() << rows << " rows of " << width << ", blocks of "
                                  << blocks.outputs << " x " << blocks.inputs);
  const Rows x = rows_for(DType::kF8E4M3, random_floats(static_cast<std::size_t>(rows) * width, 9));
  std::vector<HostWeight> weights;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> device_weights;
  std::vector<std::unique_ptr<DeviceArray<float>>> scales;
  for (const int outputs : {150, 9, 37}) {
    HostWeight& weight = weights.emplace_back(
        random_weight(DType::kF8E4M3, outputs, width, static_cast<unsigned>(outputs)));
    device_weights.push_back(std::make_unique<DeviceArray<std::byte>>(weight.data));
    const Blocks own = outputs == 9 ? Blocks{1, width} : blocks;
    scales.push_back(std::make_unique<DeviceArray<float>>(own.scale(weight)));
  }
  FewRowsTargets targets(weights, x.values);
  DeviceArray<std::byte> device_x(x.bytes);
  NarrowProduct job;
  job.type = StoredType::kE4M3;
  job.rows = rows;
  job.in_features = width;
  job.x = device_x.data();
  job.num_targets = 3;
  job.workspace = targets.workspace();
  for (std::size_t t = 0; t < 3; ++t) {
    job.targets[t] = targets.target(t, device_weights[t]->data(), scales[t]->data());
    if (t == 1) continue;
    job.targets[t].scale_outputs = blocks.outputs;
    job.targets[t].scale_inputs = blocks.inputs;
  }
  EXPECT_EQ(narrow_product(job, nullptr), cudaSuccess);
  targets.expect_near(kTolerance);
}

TEST_P(KernelTest, MultipliesBlocksOfE4M3ByTheirScales) {
  for (const int width : {128, 400, 1104, 4096}) {
    for (const int rows : {1, 5, 8}) expect_blocks(rows, width, {128, 128});
    expect_blocks(2, width, {100, 256});
    expect_blocks(3, width, {1, 128});
  }
}

TEST_P(KernelTest, NarrowProductRefusesShapesOutsideTheStatedOnes) {
  DeviceArray<std::byte> workspace(kFewRowsWorkspaceBytes);
  NarrowProduct job;
  job.rows = 1;
  job.in_features = 64;
  job.num_targets = 1;
  job.targets[0].out_features = 16;
  job.workspace = workspace.data();
  const auto refuses = [&](auto change) {
    NarrowProduct changed = job;
    change(changed);
    return narrow_product(changed, nullptr) == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(refuses([](auto& j) { j.rows = 0; }));
  EXPECT_TRUE(refuses([](auto& j) { j.rows = kMaxNarrowRows + 1; }));
  EXPECT_TRUE(refuses([](auto& j) { j.in_features = 60; }));
  EXPECT_TRUE(refuses([](auto& j) { j.type = StoredType::kQ8_0; }));
  EXPECT_TRUE(refuses([](auto& j) { j.num_targets = 0; }));
  EXPECT_TRUE(refuses([](auto& j) { j.workspace = nullptr; }));
  static constexpr float kScale = 1.0f;
  EXPECT_TRUE(refuses([](auto& j) { j.targets[0].scales = &kScale; }));  // of bf16
  job.type = StoredType::kE4M3;
  job.targets[0].scales = &kScale;
  EXPECT_TRUE(refuses([](auto& j) { j.targets[0].scale_inputs = 64; }));
  EXPECT_TRUE(refuses([](auto& j) { j.targets[0].scale_outputs = 0; }));
}

}  // namespace
}  // namespace tandem::gpu_kernels
