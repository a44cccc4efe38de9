// SPDX-License-Identifier: Apache-2.0
//
// What KV gets of host memory, and what is refused.
#include "apps/memory_plan.h"

#include <gmock/gmock.h>

#include "common/error.h"

namespace tandem::apps {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

AvailableMemory left(std::uint64_t mib) { return {mib * kMiB, mib * kMiB}; }

std::string refusal(const AvailableMemory& memory, const HostDemand& demand) {
  try {
    host_kv_bytes(memory, demand);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MemoryPlan, KvGetsWhatWeightsAndAReserveLeave) {
  const HostDemand demand{1000 * kMiB, 1100 * kMiB, 0, kMiB};
  EXPECT_EQ(host_kv_bytes(left(8000), demand), (8000 - 1100 - 1000) * kMiB);
  EXPECT_EQ(host_kv_bytes(left(2000), demand), (2000 - 1100 - 256) * kMiB) << "the least reserve";
  EXPECT_EQ(host_kv_bytes(left(100), {0, 0, 0, kMiB}), 75 * kMiB) << "a small container";
}

TEST(MemoryPlan, KvGetsWhatAShortRequestNeedsWhereOnlyThatFits) {
  EXPECT_EQ(host_kv_bytes(left(1010), {1000 * kMiB, 1100 * kMiB, 0, 5 * kMiB}), 5 * kMiB);
}

TEST(MemoryPlan, GivesWhatIsAskedForWhereItFits) {
  EXPECT_EQ(host_kv_bytes(left(1000), {500 * kMiB, 600 * kMiB, 500 * kMiB, kMiB}), 500 * kMiB);
}

TEST(MemoryPlan, RefusesWeightsThatDoNotFitAndNamesTheLimit) {
  AvailableMemory memory = left(900);
  memory.limit_bytes = 1000 * kMiB;
  const std::string text = refusal(memory, {950 * kMiB, 990 * kMiB, 0, kMiB});
  EXPECT_THAT(text, HasSubstr("950.0 MiB"));
  EXPECT_THAT(text, HasSubstr("900.0 MiB of host memory are available"));
  EXPECT_THAT(text, HasSubstr("limits this process to 1000.0 MiB"));
}

TEST(MemoryPlan, RefusesKvThatDoesNotFitBesideTheWeights) {
  const std::string text = refusal(left(1000), {500 * kMiB, 600 * kMiB, 501 * kMiB, kMiB});
  EXPECT_THAT(text, HasSubstr("--kv-memory asks for 501.0 MiB"));
  EXPECT_THAT(text, HasSubstr("lower --kv-memory"));
  EXPECT_THAT(refusal(left(1000), {0, 0, UINT64_MAX, kMiB}), HasSubstr("--kv-memory"));
}

TEST(MemoryPlan, WeightsThatAreQuantisedWhileLoadingCountAsThat) {
  model::ModelConfig config;
  config.parameters = 256 * 1000;
  config.weight_bytes = 256 * 1000 * 2;
  EXPECT_EQ(least_weight_bytes(config, "none"), 512000u);
  EXPECT_EQ(least_weight_bytes(config, "q8_0"), 272000u);
  EXPECT_EQ(least_weight_bytes(config, "f32"), 1024000u);
  EXPECT_EQ(least_weight_bytes(config, "f8"), 256000u);
}

TEST(MemoryPlan, APageHoldsKeysAndValuesOfAllLayers) {
  device::AttentionGeometry geometry;
  geometry.num_layers = 3;
  geometry.kv_heads = 2;
  geometry.head_dim = 8;
  geometry.page_tokens = 16;
  EXPECT_EQ(kv_page_bytes(geometry), 3u * 2 * 2 * 16 * 8 * 2);
  geometry.kv_dtype = DType::kI8;
  EXPECT_EQ(kv_page_bytes(geometry), 3u * 2 * 2 * 16 * (8 + 4));
}

}  // namespace
}  // namespace tandem::apps
