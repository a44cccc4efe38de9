// SPDX-License-Identifier: Apache-2.0
//
// --split auto: sizes of a model, measured products, and what is opened.
#include "apps/compute_split.h"

#include <gmock/gmock.h>

#include "common/error.h"

namespace tandem::apps {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::uint64_t kMiB = 1 << 20;

// 4 layers of 256 x (4 x 256) + 3 x 256 x 512 values: 1.25 MiB of two bytes each; tables of 0.5
// MiB.
model::ModelConfig small_model(bool has_output) {
  model::ModelConfig config;
  config.name = "small";
  config.quantization = "f16";
  config.num_layers = 4;
  config.width = 256;
  config.q_heads = config.kv_heads = 4;
  config.head_dim = 64;
  config.ffn_width = 512;
  config.vocab_size = 1024;
  config.context_length = 256;
  const std::uint64_t layer = 256 * 4 * 256 + 3 * 256 * 512, table = 1024 * 256;
  config.parameters = 4 * layer + (has_output ? 2 : 1) * table;
  config.weight_bytes = 2 * config.parameters;
  return config;
}

TEST(ComputeSplit, ComputesTheSizesOfAModel) {
  SplitNeeds needs;
  needs.kv_layer_bytes = 1000;
  needs.activation_bytes = 7;
  const planner::SplitModel untied = split_model(small_model(true), needs);
  EXPECT_EQ(untied.num_layers, 4);
  EXPECT_EQ(untied.layer_bytes, 1310720 * 17 / 16 + 1000);
  EXPECT_EQ(untied.embedding_bytes, 1024 * 256 * 2);
  EXPECT_EQ(untied.output_bytes, untied.embedding_bytes);
  EXPECT_EQ(untied.fixed_bytes, 7);
  EXPECT_EQ(untied.row_bytes, 1024);
  EXPECT_DOUBLE_EQ(untied.output_share, 262144.0 / (262144.0 + 4 * 655360.0));
  const planner::SplitModel tied = split_model(small_model(false), needs);
  EXPECT_EQ(tied.layer_bytes, untied.layer_bytes);
  EXPECT_EQ(tied.output_bytes, 0);
  needs.quantize = "f32";
  EXPECT_EQ(split_model(small_model(true), needs).embedding_bytes, 2 * untied.embedding_bytes);
  needs.quantize = "q8_0";
  EXPECT_LT(split_model(small_model(true), needs).embedding_bytes, untied.embedding_bytes);
}

TEST(ComputeSplit, MeasuresProductsWithOneRowAndWithMany) {
  const auto cpu = device::open_device("cpu", {.num_threads = 1});
  for (const char* type : {"none", "f32", "bf16", "q8_0", "q4_k"}) {
    const planner::DeviceCost cost = measured_products(*cpu, small_model(true), type);
    EXPECT_EQ(cost.id, "cpu");
    EXPECT_GT(cost.dense_s(1), 0) << type;
    EXPECT_GE(cost.dense_s(64), cost.dense_s(1)) << type;
  }
}

std::string note;
device::DeviceOptions noting() {
  note.clear();
  device::DeviceOptions options{.num_threads = 2};
  options.note = [](const std::string& line) { note += line + "\n"; };
  return options;
}

TEST(ComputeSplit, OpensOneDeviceWhereItHoldsAll) {
  const auto device = open_planned({{"cpu", 0}, {"cpu", 0}}, small_model(true), {}, noting());
  EXPECT_EQ(device->info().id, "cpu");
  EXPECT_THAT(note, AllOf(HasSubstr("split auto: cpu has 4 layers, cpu none"),
                          HasSubstr("layers in equal shares")));
}

TEST(ComputeSplit, OpensSeveralWhereNoneHoldsAll) {
  const auto device =
      open_planned({{"cpu", 4 * kMiB}, {"cpu", 4 * kMiB}}, small_model(true), {}, noting());
  EXPECT_EQ(device->info().id, "cpu+cpu");
  EXPECT_THAT(note, HasSubstr("split auto: cpu has 2 layers, cpu has 2 layers"));
}

TEST(ComputeSplit, NamesWhatFitsNowhere) {
  EXPECT_THAT(
      [] {
        open_planned({{"cpu", 4 * kMiB}, {"cpu", kMiB}}, small_model(true), {}, noting());
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("does not fit"), HasSubstr("cpu has 4 MiB"))));
}

TEST(ComputeSplit, TellsOfDividedMatrices) {
  std::vector<planner::SplitDevice> devices(3);
  devices[0].cost.id = "cuda:0";
  devices[1].cost.id = "cuda:1";
  devices[2].cost.id = "cpu";
  planner::SplitPlan plan;
  plan.by_layers = false;
  plan.devices = {0, 1};
  plan.seconds = plan.matrix_seconds = 0.5;
  plan.equal_seconds = 0.75;
  EXPECT_EQ(
      plan_text(plan, devices),
      "cuda:0, cuda:1 have a part of every matrix, cpu none: 500 ms for 64 tokens of a prompt "
      "and 64 steps (layers in equal shares 750 ms, matrices 500 ms)");
}

}  // namespace
}  // namespace tandem::apps
