// SPDX-License-Identifier: Apache-2.0
//
// Shapes of models, data sheets, and the costs that follow from them.
#include <gmock/gmock.h>

#include "common/error.h"
#include "planner/hardware/device_sheet.h"

namespace tandem::planner {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Published sizes, in billions.
TEST(ModelShape, HasThePublishedNumberOfParameters) {
  const std::pair<const char*, double> published[] = {
      {"llama-2-7b", 6.74},   {"llama-2-13b", 13.02},   {"llama-2-70b", 68.98},
      {"llama-3-8b", 8.03},   {"llama-3-70b", 70.55},   {"qwen2.5-7b", 7.62},
      {"qwen2.5-72b", 72.7},  {"qwen3-8b", 8.19},       {"qwen3-32b", 32.76},
      {"mixtral-8x7b", 46.7}, {"mixtral-8x22b", 140.6}, {"qwen3-30b-a3b", 30.5},
      {"llama-33b", 32.5},    {"llama-65b", 65.3}};
  for (const auto& [name, billions] : published) {
    EXPECT_NEAR(model_preset(name).parameters() / 1e9, billions, 0.01 * billions) << name;
  }
}

TEST(ModelShape, OfAnUnknownNameNamesTheNearest) {
  EXPECT_THAT(message_of([] { model_preset("llama2-7b"); }), HasSubstr("mean llama-2-7b?"));
  EXPECT_THAT(message_of([] { device_preset("h100"); }), HasSubstr("did you mean h100-"));
  EXPECT_THAT(message_of([] { device_preset("L40S"); }), HasSubstr("did you mean l40s?"));
  EXPECT_THAT(message_of([] { device_preset("u55"); }), HasSubstr("did you mean u55c?"));
  EXPECT_THAT(message_of([] { link_preset("400gb"); }), HasSubstr("did you mean 400gbe?"));
  EXPECT_THAT(message_of([] { device_preset("cpu:fast"); }), HasSubstr("cpu:200"));
  EXPECT_THAT(message_of([] { device_preset("cpu:-3"); }), HasSubstr("cpu:200"));
}

TEST(DeviceSheet, EveryPresetStatesItsSourceAndLink) {
  for (const DeviceSheet& sheet : device_presets()) {
    EXPECT_FALSE(sheet.source.empty()) << sheet.name;
    EXPECT_GT(sheet.memory_bytes * sheet.bytes_per_s * sheet.f16_ops_per_s, 0) << sheet.name;
    EXPECT_GT(sheet.busy_w, sheet.idle_w) << sheet.name;
    EXPECT_NO_THROW(link_preset(sheet.link)) << sheet.name;
  }
  EXPECT_DOUBLE_EQ(device_preset("cpu:123.5").bytes_per_s, 123.5e9);
}

// As the sources of the presets state them: memory, bandwidth, dense 16-bit operations, watts.
TEST(DeviceSheet, FiguresAreThoseOfTheSources) {
  struct Stated {
    const char* name;
    double gib, gb_per_s, tera, watts;
  };
  const Stated all[] = {{"t4", 16, 320, 65, 70},
                        {"a10g", 24, 600, 70, 300},
                        {"l40s", 48, 864, 362.1, 350},
                        {"a100", 80, 2039, 312, 400},
                        {"h20", 96, 4000, 148, 400},
                        {"h100-nvl", 94, 3900, 835.5, 400},
                        {"h100-sxm", 80, 3350, 989, 700},
                        {"h200", 141, 4800, 989, 700},
                        {"b200", 180, 8000, 2250, 1000},
                        {"mi300x", 192, 5300, 1307.4, 750},
                        {"u50", 8, 316, 5952 * 2e-4, 75},
                        {"u55c", 16, 460, 9024 * 2e-4, 150},
                        {"u280", 8, 460, 9024 * 2e-4, 225},
                        {"v80", 32, 820, 10848 * 2e-4, 190}};
  for (const Stated& stated : all) {
    const DeviceSheet sheet = device_preset(stated.name);
    EXPECT_DOUBLE_EQ(sheet.memory_bytes, stated.gib * 1024 * 1024 * 1024) << stated.name;
    EXPECT_NEAR(sheet.bytes_per_s / 1e9, stated.gb_per_s, 0.01 * stated.gb_per_s) << stated.name;
    EXPECT_NEAR(sheet.f16_ops_per_s / 1e12, stated.tera, 0.002 * stated.tera) << stated.name;
    EXPECT_EQ(sheet.busy_w, stated.watts) << stated.name;
    if (sheet.device_class == DeviceClass::kGpu) {
      EXPECT_NEAR(sheet.i8_ops_per_s / sheet.f16_ops_per_s, 2, 0.03) << stated.name;
    }
  }
}

// PCIe: 1, 2 and 4 GB/s per lane of generations 3 to 5; NVLink: half of both ways; Ethernet: bits.
TEST(LinkSheet, RatesAreThoseOfTheStandards) {
  const std::pair<const char*, double> stated[] = {
      {"pcie3x16", 16}, {"pcie4x8", 16}, {"pcie4x16", 32}, {"pcie5x8", 32}, {"pcie5x16", 64}};
  for (const auto& [name, gb_per_s] : stated) {
    EXPECT_NEAR(link_preset(name).bytes_per_s / 1e9, 0.85 * gb_per_s, 1e-9) << name;
  }
  EXPECT_EQ(link_preset("nvlink3").bytes_per_s, 300e9);
  EXPECT_EQ(link_preset("nvlink4").bytes_per_s, 450e9);
  EXPECT_EQ(link_preset("nvlink5").bytes_per_s, 900e9);
  for (const double gbit : {25.0, 50.0, 100.0, 200.0, 400.0}) {
    const std::string name = std::to_string(static_cast<int>(gbit)) + "gbe";
    EXPECT_NEAR(link_preset(name).bytes_per_s, 0.9 * gbit / 8 * 1e9, 1) << name;
  }
}

// specs: KV of Llama-2-7B is 512 KiB per token, of Llama-3-8B 128 KiB.
TEST(SheetCost, KvBytesAreThoseOfTheModel) {
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(model_preset("llama-2-7b"), DType::kF16), 512 * 1024);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(model_preset("llama-3-8b"), DType::kF16), 128 * 1024);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(model_preset("llama-3-8b"), DType::kI8),
                   64 * 1024 * (132.0 / 128));
}

TEST(SheetCost, DenseLayersAreBoundByMemoryThenByArithmetic) {
  const ModelShape model = model_preset("llama-2-7b");
  ComputeGroup group{device_preset("l40s"), 1, link_preset("pcie4x16")};
  group.sheet.reached = {1, 1, 1, 1};
  const DeviceCost cost = cost_of(group, model, {});
  const double read = model.parameters_read(1) * 2 / 864e9;
  EXPECT_NEAR(read, 15.3e-3, 0.2e-3);
  EXPECT_DOUBLE_EQ(cost.dense_s(1), read);
  EXPECT_DOUBLE_EQ(cost.dense_s(400), read) << "specs: the ridge point of an L40S is about 419";
  EXPECT_NEAR(cost.dense_s(4000) / (4000 * model.ops_per_row() / 362e12), 1, 1e-6);
}

TEST(SheetCost, AGroupDividesTheWorkAndPaysForItsSums) {
  const ModelShape model = model_preset("llama-3-70b");
  const ComputeGroup one{device_preset("h100-sxm"), 1, link_preset("nvlink4")};
  ComputeGroup four = one;
  four.count = 4;
  const double sums = cost_of(four, model, {}).dense_s(8) - cost_of(one, model, {}).dense_s(8) / 4;
  EXPECT_NEAR(sums, 2 * 80 * (2e-6 + 8 * 8192 * 2 * 1.5 / 450e9), 1e-6);
}

TEST(SheetCost, ExpertsAreReadByThoseThatAreChosen) {
  const ModelShape model = model_preset("mixtral-8x7b");
  const double two = 32 * 2 * model.expert_parameters(), all = 4 * two;
  EXPECT_NEAR(model.parameters_read(64) - model.parameters_read(1), all - two, 1e-3 * all);
}

// specs: 460 GFLOPS against 460 GB/s is one operation per byte, so G = 1 with 16 bits.
TEST(SheetCost, ACardIsBoundByArithmeticWhereTheGroupIsLarge) {
  DeviceSheet card = device_preset("u55c");
  card.f16_ops_per_s = 460e9, card.reached = {0, 0, 1, 1};
  const LinkSheet& link = link_preset("pcie4x8");
  const auto tokens_per_s = [&](const char* name) {
    const DeviceCost cost = cost_of(card, link, model_preset(name), {});
    const AttentionCost& attention = cost.attention.front();
    return 1e6 / attention.seconds(attention.work_of(1, 1e6));
  };
  const double mha_bytes = 16384, gqa_bytes = 4096;
  EXPECT_NEAR(tokens_per_s("llama-2-7b") * mha_bytes, 460e9, 1e9);
  EXPECT_NEAR(tokens_per_s("llama-3-8b") * gqa_bytes, 460e9 / 4, 1e9);
}

}  // namespace
}  // namespace tandem::planner
