// SPDX-License-Identifier: Apache-2.0
//
// What one server does in each step, seen in its record.
#include <gtest/gtest.h>

#include "simulation/serving/simulate.h"

namespace tandem::simulation {
namespace {

ServingOptions options_with(const char* model) {
  ServingOptions options;
  options.model = planner::model_preset(model);
  return options;
}

ServingResult serve(const char* machine, const ServingOptions& options, const char* load) {
  return simulate_serving(parse_machine(machine), options, Load(parse_load(load), 1));
}

// Eight query heads share a key, and keys have 8 bits: arithmetic limits the attention of a CPU.
TEST(Server, AJumpCountsThePairsOfLongerSequences) {
  ServingOptions options = options_with("llama-3-70b");
  options.precision = {1, DType::kI8};
  const char* load = "batch:4,prompt=1000,output=100,requests=4";
  const double jumps = serve("cpu:400", options, load).seconds;
  options.jumps = false;
  EXPECT_EQ(jumps, serve("cpu:400", options, load).seconds);
}

TEST(Server, SaysWhatLimitsTheComputeDevice) {
  const ServingOptions options = options_with("llama-2-7b");
  EXPECT_EQ(serve("l40s", options, "batch:4,prompt=16,output=50").devices[0].limit, "memory");
  EXPECT_EQ(serve("l40s", options, "batch:4,prompt=2048,output=1").devices[0].limit, "arithmetic")
      << "512 rows take less than twice the time of one";
}

TEST(Server, SaysWhatLimitsACard) {
  const auto limit = [](const char* model) {
    ServingOptions options = options_with(model);
    options.precision.weight_bytes = 0.5;
    options.attention = AttentionPolicy::kUnits;
    return serve("h200+u55c", options, "batch:2,prompt=500,output=50").devices[1].limit;
  };
  EXPECT_EQ(limit("llama-2-7b"), "memory");
  EXPECT_EQ(limit("llama-3-70b"), "arithmetic") << "eight query heads share each key";
}

TEST(Server, AFirstTokenIsTimedFromItsArrival) {
  const ServingResult result =
      serve("l40s", options_with("llama-2-7b"), "burst:1,every=100,prompt=64,output=8,requests=5");
  EXPECT_NEAR(result.record.first_token.quantile(1), result.record.first_token.quantile(0.01),
              1e-3);
}

TEST(Server, PromptsThatAnotherMachineComputesTakeNoTime) {
  ServingOptions options = options_with("llama-2-7b");
  const char* load = "batch:4,prompt=2000,output=2,requests=4";
  const double here = serve("l40s", options, load).seconds;
  options.prompts_elsewhere = true;
  const ServingResult elsewhere = serve("l40s", options, load);
  EXPECT_EQ(elsewhere.record.steps, 2u);
  EXPECT_LT(elsewhere.seconds, 0.3 * here);
}

TEST(Server, ATargetDoesNotCutAPromptThatNobodyWaitsBeside) {
  ServingOptions options = options_with("llama-2-7b");
  const char* load = "batch:1,prompt=2000,output=1,requests=1";
  const double free = serve("l40s", options, load).seconds;
  options.target_between_tokens_s = 0.001;
  EXPECT_EQ(serve("l40s", options, load).seconds, free);
}

ServingResult on_two_cards(std::vector<SimulatedRequest> requests) {
  ServingOptions options = options_with("llama-2-7b");
  options.attention = AttentionPolicy::kUnits;
  return simulate_serving(parse_machine("l40s+2*u55c"), options, Load(std::move(requests)));
}

double busy_s(const ServingResult& result, std::size_t device) {
  return result.devices[device].utilisation * result.seconds;
}

// One card has a short sequence that will have 72 pages, the other a long one that will have 50.
// The newcomer goes to the second one.
TEST(Server, ANewcomersHomeFollowsWhatTheOthersWillHold) {
  std::vector<SimulatedRequest> requests = {{0, 16, 3000}, {0, 500, 300}};
  const ServingResult without = on_two_cards(requests);
  ASSERT_LT(busy_s(without, 1), 0.1 * busy_s(without, 2)) << "the first card ends early";
  requests.push_back({0.5, 100, 100});
  EXPECT_GT(busy_s(on_two_cards(requests), 1), 1.03 * busy_s(without, 1));
}

TEST(Server, WhatHasEndedIsNotExpectedToGrow) {
  const std::vector<SimulatedRequest> pair = {{1000, 1000, 50}, {1000, 1000, 50}};
  std::vector<SimulatedRequest> behind_a_long_one = {{0, 16, 3000}};
  behind_a_long_one.insert(behind_a_long_one.end(), pair.begin(), pair.end());
  EXPECT_NEAR(on_two_cards(behind_a_long_one).seconds, on_two_cards(pair).seconds, 1e-6)
      << "one on each card";
}

// The chunks of the second prompt do not attend to the first sequence, which decodes.
TEST(Server, ATargetCountsTheEarlierTokensOfThePromptAlone) {
  ServingOptions options = options_with("llama-3.1-8b");
  options.keeps_requests = true;
  options.target_between_tokens_s = 0.05;
  const auto of_second = [&](int tokens_of_first) {
    const ServingResult result = simulate_serving(
        parse_machine("l40s"), options, Load({{0, tokens_of_first, 3000}, {20, 2000, 1}}));
    return result.record.ended.front().end_s - 20;
  };
  EXPECT_LT(of_second(30000), 1.3 * of_second(100));
}

TEST(Server, RequestsOfOneInstantShareAStep) {
  EXPECT_EQ(serve("l40s", options_with("llama-2-7b"), "burst:2,prompt=16,output=1,requests=2")
                .record.steps,
            1u);
}

// A long request is on the first server, so both short ones run alone on the second.
TEST(Server, ARequestGoesToTheServerThatHasTheFewestNow) {
  ServingOptions options = options_with("llama-2-7b");
  options.keeps_requests = true;
  const ServingResult result = simulate_serving(
      parse_machine("2x(l40s)"), options, Load({{0, 2000, 2000}, {1, 500, 20}, {10, 500, 20}}));
  const auto& ended = result.record.ended;
  EXPECT_NEAR(ended[1].end_s - 10, ended[0].end_s - 1, 1e-6);
}

TEST(Server, DevicesOfAllServersAreCountedAndPaidAndTheirLinksAveraged) {
  ServingOptions options = options_with("llama-2-7b");
  options.attention = AttentionPolicy::kUnits;
  const auto devices = [&](const char* machine, const char* load) {
    return serve(machine, options, load).devices;
  };
  const auto one = devices("2*h100-sxm/nvlink4+u55c", "batch:4,prompt=100,output=50,requests=4");
  const auto three =
      devices("3x(2*h100-sxm/nvlink4+u55c)", "batch:12,prompt=100,output=50,requests=12");
  EXPECT_EQ(one[0].count, 2);
  EXPECT_EQ(three[0].count, 6);
  EXPECT_EQ(three[1].count, 3);
  EXPECT_GT(one[1].link_utilisation, 0);
  EXPECT_NEAR(three[1].link_utilisation, one[1].link_utilisation, 1e-9);
  EXPECT_NEAR(three[0].price_per_hour, 6 * planner::device_preset("h100-sxm").price_per_hour, 1e-9);
}

// Sixteen short ones, and later as many of ten times their length. The own memory holds all of the
// short ones alone.
TEST(Server, SharesFollowALoadThatChanges) {
  const ServingOptions options = options_with("llama-2-7b");
  const auto seconds = [&](bool has_short, bool has_long) {
    std::vector<SimulatedRequest> requests;
    for (int i = 0; has_short && i < 16; ++i) requests.push_back({0, 50, 30});
    for (int i = 0; has_long && i < 16; ++i) requests.push_back({100, 500, 300});
    const ServingResult result =
        simulate_serving(parse_machine("t4+cpu:400"), options, Load(std::move(requests)));
    return has_long ? result.seconds - 100 : result.seconds;
  };
  EXPECT_LT(seconds(true, true), 1.02 * seconds(false, true));
}

}  // namespace
}  // namespace tandem::simulation
