// SPDX-License-Identifier: Apache-2.0
//
// Serving in virtual time: against closed forms, conservation, and what pays.
#include "simulation/serving/simulate.h"

#include <gmock/gmock.h>

#include "host/simulation/serving/message_of.h"

namespace tandem::simulation {
namespace {

using ::testing::HasSubstr;

ServingOptions options_of(const char* model) {
  ServingOptions options;
  options.model = planner::model_preset(model);
  return options;
}

ServingResult run(const char* machine, const ServingOptions& options, const char* load,
                  std::uint64_t seed = 1) {
  return simulate_serving(parse_machine(machine), options, Load(parse_load(load), seed));
}

// One step for the prompts, then nine for a token each.
TEST(Simulate, ABatchTakesTheSumOfItsSteps) {
  const ServingOptions options = options_of("llama-2-7b");
  const ServingResult result = run("l40s", options, "batch:4,prompt=16,output=10,requests=4");
  const ServerModel model = model_server(parse_machine("l40s"), options);
  double seconds = 0;
  for (int step = 0; step < 10; ++step) {
    const double seen = 16 + step;
    planner::SubBatch batch{step == 0 ? 64.0 : 4.0, 4, 0, {{}}};
    if (step == 0) {
      batch.causal_pairs = 4 * 16 * 17 / 2, batch.units[0] = {0, 0, 0};
    } else {
      batch.units[0] = {4, 4 * seen, 4 * seen};
    }
    seconds += planner::step_time(model.machine, std::vector{batch}).total;
  }
  // A unit also hears of a chunk without earlier tokens: one launch per layer.
  seconds += 32 * model.machine.units[0].launch_s;
  EXPECT_NEAR(result.seconds, seconds, 1e-9 * seconds);
  EXPECT_EQ(result.record.steps, 10u);
  EXPECT_EQ(result.record.generated_tokens, 40u);
  EXPECT_EQ(result.record.first_token.count(), 4u);
  EXPECT_EQ(result.record.between_tokens.count(), 36u);
  EXPECT_EQ(result.record.mean_batch(), 4);
  EXPECT_NEAR(result.tokens_per_s(), 40 / seconds, 1e-6);
}

TEST(Simulate, EnergyIsIdleAndBusyPowerOfEveryDevice) {
  ServingOptions options = options_of("llama-2-7b");
  options.attention = AttentionPolicy::kUnits;
  const ServingResult result = run("2x(l40s+2*u55c)", options, "batch:40,prompt=300,output=20");
  ASSERT_EQ(result.devices.size(), 3u);
  double joules = 0;
  for (const DeviceReport& device : result.devices) {
    const planner::DeviceSheet sheet =
        device.name == "l40s" ? planner::device_preset("l40s") : planner::device_preset("u55c");
    EXPECT_EQ(device.count, 2);
    EXPECT_GT(device.utilisation, 0) << device.name;
    EXPECT_LE(device.utilisation, 1) << device.name;
    const double busy = device.utilisation * (sheet.busy_w - sheet.idle_w);
    EXPECT_NEAR(device.joules, 2 * result.seconds * (sheet.idle_w + busy), 1e-6 * device.joules);
    joules += device.joules;
  }
  EXPECT_NEAR(result.joules_per_token() * result.record.generated_tokens, joules, 1e-6 * joules);
}

TEST(Simulate, TheSameSeedGivesTheSameResultToTheLastBit) {
  const char* load = "poisson:30,prompt=10..900,output=1..200,requests=300";
  const auto result = [&](std::uint64_t seed) {
    return run("2x(l40s+2*u55c)", options_of("llama-2-7b"), load, seed);
  };
  const ServingResult first = result(3), again = result(3), other = result(4);
  EXPECT_EQ(first.seconds, again.seconds);
  EXPECT_EQ(first.joules_per_token(), again.joules_per_token());
  EXPECT_EQ(first.record.between_tokens.mean(), again.record.between_tokens.mean());
  EXPECT_EQ(first.record.whole.quantile(0.99), again.record.whole.quantile(0.99));
  EXPECT_NE(first.seconds, other.seconds);
}

// Over steps that are planned alike; with arrivals, ends, several servers and little memory.
TEST(Simulate, AJumpChangesNothing) {
  const std::pair<const char*, const char*> cases[] = {
      {"l40s", "batch:8,prompt=30..300,output=1..200,requests=60"},
      {"3x(l40s)", "batch:8,prompt=30..300,output=1..200,requests=60"},
      {"2x(l40s)", "poisson:3,prompt=30..300,output=1..200,requests=60"},
      {"l40s:18", "batch:32,prompt=200..700,output=100..300,requests=80"}};
  for (const auto& [machine, load] : cases) {
    ServingOptions options = options_of("llama-2-7b");
    const ServingResult jumps = run(machine, options, load, 5);
    options.jumps = false;
    const ServingResult steps = run(machine, options, load, 5);
    EXPECT_EQ(jumps.seconds, steps.seconds) << machine << load;
    EXPECT_EQ(jumps.record.steps, steps.record.steps);
    EXPECT_EQ(jumps.record.batches, steps.record.batches);
    EXPECT_EQ(jumps.record.generated_tokens, steps.record.generated_tokens);
    EXPECT_EQ(jumps.record.preemptions, steps.record.preemptions);
    EXPECT_EQ(jumps.devices[0].joules, steps.devices[0].joules);
    EXPECT_EQ(jumps.record.whole.mean(), steps.record.whole.mean());
    for (const double quantile : {0.01, 0.5, 0.99}) {
      EXPECT_EQ(jumps.record.between_tokens.quantile(quantile),
                steps.record.between_tokens.quantile(quantile));
    }
  }
}

TEST(Simulate, NoTokenIsLostWhereMemoryIsShort) {
  ServingOptions options = options_of("llama-2-7b");
  for (const auto placement : {engine::Placement::kSequences, engine::Placement::kPages}) {
    options.placement = placement;
    const ServingResult result =
        run("l40s:17+u55c:2", options, "batch:32,prompt=200..700,output=100..300,requests=200", 7);
    Load load(parse_load("batch:32,prompt=200..700,output=100..300,requests=200"), 7);
    std::uint64_t outputs = 0;
    while (const auto request = load.next()) outputs += static_cast<std::uint64_t>(request->output);
    EXPECT_GT(result.record.preemptions, 0u);
    EXPECT_EQ(result.record.requests, 200u);
    EXPECT_EQ(result.record.generated_tokens, outputs);
    EXPECT_EQ(result.record.first_token.count(), 200u);
  }
}

TEST(Simulate, RequestsThatArriveLateWaitForNobody) {
  const ServingResult result =
      run("l40s", options_of("llama-2-7b"), "burst:1,every=100,prompt=64,output=8,requests=5");
  EXPECT_NEAR(result.record.whole.quantile(1), result.record.whole.quantile(0.01), 1e-3);
  EXPECT_GT(result.seconds, 400);
  EXPECT_LT(result.devices[0].utilisation, 0.02);
}

TEST(Simulate, EightServersServeEightTimesAsMany) {
  const ServingOptions options = options_of("llama-3-8b");
  const double one = run("l40s", options, "batch:16,prompt=500,output=64").tokens_per_s();
  const double eight = run("8x(l40s)", options, "batch:128,prompt=500,output=64").tokens_per_s();
  EXPECT_NEAR(eight / one, 8, 0.1);
}

// The rule of the planner, in the whole loop: batches and contexts, cards near, far, fast and slow.
TEST(Simulate, AutoIsNeverMuchSlowerThanWhatAnOperatorMightFix) {
  const std::string kAsFastAsTheOwn = "t4+cpu:400";
  for (const char* machine :
       {"l40s+4*u55c", "l40s+2*u50@25gbe", "l40s+cpu:100", kAsFastAsTheOwn.c_str()}) {
    for (const char* load : {"batch:1,prompt=32,output=32", "batch:8,prompt=500,output=32",
                             "batch:48,prompt=100,output=32", "batch:48,prompt=1000,output=32"}) {
      ServingOptions options = options_of("llama-3-8b");
      options.precision.weight_bytes = 1;
      options.precision.kv_dtype = DType::kI8;
      const double chosen = run(machine, options, load).seconds;
      double worst = 0;
      for (const auto policy : {AttentionPolicy::kOwn, AttentionPolicy::kUnits}) {
        for (const int sub_batches : {1, 2}) {
          options.attention = policy, options.num_sub_batches = sub_batches;
          const double fixed = run(machine, options, load).seconds;
          EXPECT_LE(chosen, 1.03 * fixed)
              << machine << ' ' << load << ' ' << static_cast<int>(policy) << sub_batches;
          worst = std::max(worst, fixed);
        }
      }
      // A sequence alone reads the weights in every mode, and memory of the same speed costs the
      // same.
      const bool differs = !std::string(load).starts_with("batch:1,") && machine != kAsFastAsTheOwn;
      if (differs) {
        EXPECT_GE(worst, 1.2 * chosen) << machine << ' ' << load;
      }
    }
  }
}

// The sweep of benchmarks/host/simulation/studies.py: every case is within 3 % of the best mode.
TEST(Simulate, AutoIsNeverMuchSlowerOverAllDevicesAndLoadsOfTheSweep) {
  double least_gain = 1e9;
  for (const char* machine :
       {"l40s+4*u55c", "l40s:26+cpu:200", "l40s+2*u50@25gbe", "t4+cpu:400", "a10g+cpu:50",
        "a10g+cpu:190", "h100-sxm+4*h20@400gbe", "h100-sxm+4*v80", "2*h100-sxm/nvlink4+cpu:300"}) {
    for (const char* load : {"batch:1,prompt=32,output=32", "batch:8,prompt=500,output=32",
                             "batch:48,prompt=100,output=32", "batch:48,prompt=1000,output=32",
                             "batch:64,prompt=100..2000,output=20..400,requests=128",
                             "batch:128,prompt=500..1500,output=100..300,requests=256",
                             "poisson:4,prompt=100..2000,output=20..400,requests=100"}) {
      for (const DType kv : {DType::kF16, DType::kI8}) {
        ServingOptions options = options_of("llama-3-8b");
        options.precision = {34.0 / 32, kv};
        const double chosen = run(machine, options, load).seconds;
        double best = 1e9;
        for (const auto policy : {AttentionPolicy::kOwn, AttentionPolicy::kUnits}) {
          for (const int sub_batches : {1, 2}) {
            options.attention = policy, options.num_sub_batches = sub_batches;
            best = std::min(best, run(machine, options, load).seconds);
          }
        }
        EXPECT_LE(chosen, 1.03 * best) << machine << ' ' << load << ' ' << dtype_name(kv);
        least_gain = std::min(least_gain, chosen / best);
      }
    }
  }
  EXPECT_LT(least_gain, 0.96)
      << "units beside the own memory beat every mode of one kind somewhere";
}

// Sequences outgrow their mean: host memory that gets no share must not get what grows.
TEST(Simulate, AutoIsNeverMuchSlowerWhereLengthsDiffer) {
  const std::pair<const char*, const char*> machines[] = {
      {"2*h100-sxm/nvlink4+cpu:300", "llama-3.1-70b"},
      {"l40s+4*u55c", "llama-3-8b"},
      {"l40s:26+cpu:200", "llama-3-8b"},
      {"a10g+cpu:50", "llama-3-8b"},
      {"a10g+cpu:190", "llama-3-8b"}};
  for (const auto& [machine, model] : machines) {
    for (const char* load : {"batch:128,prompt=500..1500,output=100..300,requests=256",
                             "batch:64,prompt=100..2000,output=20..400,requests=256"}) {
      ServingOptions options = options_of(model);
      const double chosen = run(machine, options, load).seconds;
      for (const auto policy : {AttentionPolicy::kOwn, AttentionPolicy::kUnits}) {
        for (const int sub_batches : {1, 2}) {
          options.attention = policy, options.num_sub_batches = sub_batches;
          EXPECT_LE(chosen, 1.03 * run(machine, options, load).seconds)
              << machine << ' ' << load << ' ' << static_cast<int>(policy) << sub_batches;
        }
      }
    }
  }
}

TEST(Simulate, HostMemoryWithoutAShareChangesNothing) {
  const ServingOptions options = options_of("llama-3.1-70b");
  const char* load = "batch:128,prompt=500..1500,output=100..300,requests=256";
  const ServingResult alone = run("2*h100-sxm/nvlink4", options, load);
  const ServingResult beside = run("2*h100-sxm/nvlink4+cpu:100", options, load);
  EXPECT_EQ(beside.devices[1].utilisation, 0);
  EXPECT_NEAR(beside.seconds, alone.seconds, 1e-3 * alone.seconds);
}

// The own memory holds 4,000 tokens; a longer request needs the host's.
TEST(Simulate, ARequestThatOnlyHostMemoryHoldsIsServed) {
  ServingOptions options = options_of("llama-3-8b");
  const ServingResult result =
      run("l40s:18.5+cpu:50", options, "batch:4,prompt=7000,output=20,requests=8");
  EXPECT_EQ(result.record.requests, 8u);
  EXPECT_GT(result.devices[1].utilisation, 0);
}

std::vector<SimulatedRequest> short_requests(int count) {
  return std::vector<SimulatedRequest>(static_cast<std::size_t>(count), {0, 100, 50});
}

ServingResult run_requests(const char* machine, std::vector<SimulatedRequest> requests) {
  ServingOptions options = options_of("llama-3-8b");
  return simulate_serving(parse_machine(machine), options, Load(std::move(requests)));
}

// Host memory has no share of the short ones, whose means hardly change with one long one.
TEST(Simulate, ALongRequestBehindManyShortOnesIsServed) {
  std::vector<SimulatedRequest> requests = short_requests(400);
  requests.push_back({0, 7000, 20});
  const ServingResult result = run_requests("l40s:18.5+cpu:50", requests);
  EXPECT_EQ(result.record.requests, 401u);
  EXPECT_GT(result.devices[1].utilisation, 0);
  requests.insert(requests.begin() + 200, {0, 7000, 20});
  EXPECT_EQ(run_requests("l40s:18.5+cpu:50", requests).record.requests, 402u);
}

TEST(Simulate, ALongRequestHardlyHoldsUpTheShortOnes) {
  std::vector<SimulatedRequest> requests = short_requests(2000);
  const double without = run_requests("l40s:18.5+cpu:50", requests).seconds;
  const double of_long = run_requests("l40s:18.5+cpu:50", {{0, 7000, 20}}).seconds;
  requests.insert(requests.begin() + 20, {0, 7000, 20});
  EXPECT_LT(run_requests("l40s:18.5+cpu:50", requests).seconds, 1.05 * (without + of_long));
}

TEST(Simulate, WhereNobodyMayRunTheFirstRequestIsNamed) {
  ServingOptions options = options_of("llama-3-8b");
  options.max_running = 0;
  EXPECT_THAT(message_of([&] { run("l40s", options, "batch:1,prompt=100,output=50"); }),
              HasSubstr("100 + 50 tokens waits although no other runs: it needs 7 pages"));
}

// Four prompts of 300 rows, one token each.
TEST(Simulate, WholePromptsJoinAStepUntilItHasEnoughRows) {
  const auto steps = [](int enough_rows, int step_rows, const char* prompt = "300") {
    ServingOptions options = options_of("llama-2-7b");
    options.whole_prompt_rows = enough_rows;
    options.max_step_tokens = step_rows;
    const std::string load = "batch:4,output=1,requests=4,prompt=" + std::string(prompt);
    return run("l40s", options, load.c_str()).record.steps;
  };
  EXPECT_EQ(steps(0, 512), 3u) << "cut: 1,200 rows";
  EXPECT_EQ(steps(512, 512), 4u) << "two do not fit";
  EXPECT_EQ(steps(700, 700), 2u);
  EXPECT_EQ(steps(300, 2048), 4u) << "one is enough";
  EXPECT_EQ(steps(301, 2048), 2u);
  EXPECT_EQ(steps(512, 512, "1000"), 8u) << "longer than a step: cut all the same";
}

TEST(Simulate, KeepsRequestsInTheOrderOfTheirEnds) {
  ServingOptions options = options_of("llama-2-7b");
  EXPECT_TRUE(run("l40s", options, "batch:2,prompt=10,output=5").record.ended.empty());
  options.keeps_requests = true;
  const ServingResult result =
      run("l40s", options, "poisson:2,prompt=10..90,output=5..90,requests=50");
  ASSERT_EQ(result.record.ended.size(), 50u);
  double last = 0, sum = 0;
  for (const EndedRequest& ended : result.record.ended) {
    EXPECT_GE(ended.end_s, last);
    last = ended.end_s;
    sum += ended.end_s - ended.request.arrival_s;
  }
  EXPECT_EQ(last, result.seconds);
  EXPECT_NEAR(sum / 50, result.record.whole.mean(), 1e-9);
}

// Long prompts arrive while others stream.
TEST(Simulate, ChunksFollowTheTargetBetweenTokens) {
  ServingOptions options = options_of("llama-3-8b");
  options.max_step_tokens = 2048;
  const char* load = "poisson:1,prompt=1500..3000,output=100,requests=100";
  const ServingResult free = run("l40s", options, load);
  EXPECT_GT(free.record.between_tokens.quantile(0.99), 0.1);
  options.target_between_tokens_s = 0.05;
  const ServingResult bound = run("l40s", options, load);
  EXPECT_LT(bound.record.between_tokens.quantile(0.99), 1.005 * 0.05) << "a bucket's width";
  EXPECT_EQ(bound.record.generated_tokens, free.record.generated_tokens);
  EXPECT_LT(bound.seconds, 1.1 * free.seconds);
}

TEST(Simulate, SaysWhichMemoryIsTooSmallAndByHowMuch) {
  const auto refusal = [](const char* machine, const char* model, const char* load) {
    return message_of([&] { run(machine, options_of(model), load); });
  };
  EXPECT_THAT(refusal("l40s", "llama-3-70b", "batch:1"),
              HasSubstr("141.1 GB, but the memory of 1 x l40s has 46.4 GB for them: 94.7 GB"));
  EXPECT_THAT(refusal("l40s:15.1", "llama-2-7b", "batch:1,prompt=2000,output=100"),
              HasSubstr("tokens is missing"));
  EXPECT_THAT(refusal("l40s", "llama-2-7b", "batch:1,prompt=4000,output=100"),
              HasSubstr("context of 4096"));
  EXPECT_THAT(refusal("l40s:14.98", "llama-2-7b", "batch:1"), HasSubstr("no memory holds a page"));
  ServingOptions options = options_of("llama-2-7b");
  options.attention = AttentionPolicy::kUnits;
  EXPECT_THAT(message_of([&] { run("l40s", options, "batch:1"); }), HasSubstr("no unit attends"));
  options.attention = AttentionPolicy::kAuto, options.reserved_tokens = 4096;
  EXPECT_THAT(message_of([&] { run("l40s:17", options, "batch:1,prompt=8,output=8"); }),
              HasSubstr("a contiguous cache of 4096 tokens fits no memory: the largest holds "));
}

}  // namespace
}  // namespace tandem::simulation
