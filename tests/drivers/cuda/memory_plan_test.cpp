// SPDX-License-Identifier: Apache-2.0
//
// The division of a GPU's memory.
#include "cuda/memory/memory_plan.h"

#include <gmock/gmock.h>

#include "common/error.h"

namespace tandem::cuda {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string error_of(const MemoryState& state, const MemoryDemand& demand) {
  try {
    plan_memory(state, demand, "cuda:1");
  } catch (const DeviceError&) {
    return "a DeviceError";
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(MemoryPlanTest, PagesGetWhatWeightsWorkspaceAndReserveLeave) {
  const MemoryPlan plan =
      plan_memory({80 * kGiB, 80 * kGiB}, {16 * kGiB, kGiB, 0, kGiB / 512, 0}, "cuda:0");
  EXPECT_EQ(plan.reserve_bytes, kGiB);
  EXPECT_EQ(plan.kv_pages, 62u * 512);
  EXPECT_EQ(plan.kv_bytes, 62 * kGiB);
}

TEST(MemoryPlanTest, WhatWasAskedForIsGivenUpToTheBoundOnPages) {
  const MemoryState state{80 * kGiB, 80 * kGiB};
  EXPECT_EQ(plan_memory(state, {0, 0, 10 * kGiB + 5, kGiB, 0}, "cuda:0").kv_pages, 10u);
  EXPECT_EQ(plan_memory(state, {0, 0, 10 * kGiB, kGiB, 3}, "cuda:0").kv_pages, 3u);
  EXPECT_EQ(plan_memory(state, {0, 0, 0, kGiB, 3}, "cuda:0").kv_pages, 3u);
}

TEST(MemoryPlanTest, TheReserveIsAThirtySecondWithinBounds) {
  EXPECT_EQ(memory_reserve(kGiB), kGiB / 16);
  EXPECT_EQ(memory_reserve(16 * kGiB), kGiB / 2);
  EXPECT_EQ(memory_reserve(140 * kGiB), kGiB);
}

TEST(MemoryPlanTest, WhatDoesNotFitIsAnErrorThatSaysWhatToLower) {
  const MemoryState state{9 * kGiB, 80 * kGiB};
  EXPECT_THAT(error_of(state, {16 * kGiB, 0, 0, kGiB, 0}),
              testing::AllOf(HasSubstr("[cuda] cuda:1: weights need 16.00 GiB, 8.00 GiB are free"),
                             HasSubstr("--kv-memory")));
  EXPECT_THAT(error_of(state, {0, 0, 12 * kGiB, kGiB, 0}),
              HasSubstr("KV pages need 12.00 GiB, 8.00 GiB are free; lower --kv-memory"));
  EXPECT_THAT(error_of(state, {8 * kGiB, 0, 0, kGiB, 0}), HasSubstr("hold no page of 1.00 GiB"));
  EXPECT_THAT(error_of({0, kGiB}, {1, 0, 0, 1, 0}), HasSubstr("0.00 MiB are free"));
}

}  // namespace
}  // namespace tandem::cuda
