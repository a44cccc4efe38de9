// SPDX-License-Identifier: Apache-2.0
//
// Rules, the warm-up, the checks of options, and how buckets are divided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "common/error.h"
#include "training/reducer/options.h"
#include "training/reducer/parameters.h"

namespace tandem::training {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

std::string sparsifier_of(const ReducerOptions& options, const std::string& name,
                          const std::vector<std::int64_t>& shape) {
  return treatment_of(options, name, shape).sparsifier;
}

TEST(Treatment, IsDenseForSmallParametersAndVectors) {
  ReducerOptions options;
  options.dense_below = 1000;
  EXPECT_EQ(sparsifier_of(options, "w", {10, 99}), "dense");
  EXPECT_EQ(sparsifier_of(options, "w", {10, 100}), "exdyna");
  EXPECT_EQ(sparsifier_of(options, "b", {100'000}), "dense");
  options.dense_vectors = false;
  EXPECT_EQ(sparsifier_of(options, "b", {100'000}), "exdyna");
  EXPECT_EQ(treatment_of(options, "w", {2}).density, 1);
}

TEST(Treatment, FollowsTheFirstRuleThatMatches) {
  ReducerOptions options;
  options.dense_below = 1000;
  options.rules = {
      {"*.bias", "topk", 0.5, {}}, {"head.*", {}, 0.25, "dense_ring"}, {"h*", "dense", {}, {}}};
  // A named sparsifier is obeyed for a vector, too.
  EXPECT_EQ(treatment_of(options, "head.bias", {8}), (Treatment{"topk", 0.5, "auto"}));
  EXPECT_EQ(treatment_of(options, "head.weight", {80, 80}),
            (Treatment{"exdyna", 0.25, "dense_ring", true}));
  // A rule without a sparsifier leaves small parameters dense.
  EXPECT_EQ(sparsifier_of(options, "head.weight", {8, 8}), "dense");
  EXPECT_EQ(sparsifier_of(options, "hidden", {80, 80}), "dense");
  EXPECT_EQ(treatment_of(options, "x", {80, 80}), (Treatment{"exdyna", 0.01, "auto", true}));
}

TEST(Treatment, OfAutoIsSparseOnlyIfItPaysUnlessARuleNamesASparsifier) {
  ReducerOptions options;
  EXPECT_EQ(options.sparsifier, "auto");
  options.dense_below = 1000;
  options.rules = {{"head.*", "exdyna", {}, {}}, {"tail.*", "auto", {}, {}}};
  EXPECT_TRUE(treatment_of(options, "x", {80, 80}).if_it_pays);
  EXPECT_FALSE(treatment_of(options, "head.weight", {80, 80}).if_it_pays);
  EXPECT_EQ(treatment_of(options, "tail.bias", {8}), (Treatment{"exdyna", 0.01, "auto", true}));
  EXPECT_EQ(sparsifier_of(options, "x", {8}), "dense");
}

TEST(Schedule, IsThePublishedWarmUpForADensityOfOneInAThousand) {
  ReducerOptions options;
  options.warmup_steps = 400;
  options.warmup_density = 0.25;
  std::vector<double> densities;
  for (const std::uint64_t step : {0, 99, 100, 200, 300, 399, 400}) {
    densities.push_back(scheduled_density(options, 0.001, step));
  }
  EXPECT_THAT(densities, ElementsAre(0.25, 0.25, 0.0625, 0.015625, 0.00390625, 0.00390625, 0.001));
}

TEST(Schedule, NeverGoesBelowTheDensityAndEndsForDensity0) {
  ReducerOptions options;
  options.warmup_steps = 10;
  options.warmup_density = 0.25;
  EXPECT_EQ(scheduled_density(options, 0.5, 0), 0.5);
  EXPECT_EQ(scheduled_density(options, 0.2, 9), 0.25);
  EXPECT_EQ(scheduled_density(options, 0, 10), 0);
  EXPECT_GT(scheduled_density(options, 0, 9), 0);
  options.warmup_density = 1;
  EXPECT_EQ(scheduled_density(options, 0.001, 9), 1);
  EXPECT_EQ(scheduled_density(options, 0.001, 10), 0.001);
}

ReducerOptions asked(const std::string& sparsifier, double density) {
  ReducerOptions options;
  options.sparsifier = sparsifier;
  options.density = density;
  return options;
}

using Warmup = std::pair<std::uint64_t, double>;  // steps, first density

Warmup warmup_of(const ReducerOptions& options) {
  const ReducerOptions all = with_warmup(options);
  return {all.warmup_steps.value(), all.warmup_density.value()};
}

TEST(Warmup, BelowOnePercentItLastsTheStepsInWhichAllValuesHaveTheirTurn) {
  EXPECT_EQ(warmup_of(asked("exdyna", 0.001)), Warmup(1000, 0.25));
  EXPECT_EQ(warmup_of(asked("dgc", 0.004)), Warmup(250, 0.25));
  EXPECT_EQ(warmup_of(asked("topk", 1e-9)), Warmup(10'000, 0.25));
  EXPECT_EQ(warmup_of(asked("auto", 0.001)), Warmup(1000, 1));  // dense until the trial
  EXPECT_EQ(warmup_of(asked("exdyna", 0.01)), Warmup(0, 1));
  EXPECT_EQ(warmup_of(asked("exdyna", 0)), Warmup(0, 1));
  EXPECT_EQ(warmup_of(asked("dense", 0.001)), Warmup(0, 1));
  EXPECT_EQ(warmup_of(asked("rows", 0.001)), Warmup(0, 1));
}

TEST(Warmup, WhatIsGivenStays) {
  ReducerOptions options = asked("exdyna", 0.001);
  options.warmup_steps = 0;
  EXPECT_EQ(warmup_of(options), Warmup(0, 1));
  options.warmup_steps = 7;
  EXPECT_EQ(warmup_of(options), Warmup(7, 1));
  options.warmup_density = 0.5;
  EXPECT_EQ(warmup_of(options), Warmup(7, 0.5));
  options.warmup_steps.reset();
  EXPECT_EQ(warmup_of(options), Warmup(1000, 0.5));
}

std::string refusal(const std::function<void(ReducerOptions&)>& change) {
  ReducerOptions options;
  change(options);
  try {
    check_options(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Options, AreCheckedByName) {
  EXPECT_EQ(refusal([](ReducerOptions&) {}), "");
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.sparsifier = "exdina"; }),
              HasSubstr("the option sparsifier is 'exdina' (did you mean 'exdyna'?); choose one of "
                        "topk, "));
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.density = 1.5; }),
              HasSubstr("the option density is 1.5; it is a share from 0 to 1"));
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.density = std::nan(""); }), HasSubstr("density"));
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.warmup_density = -1; }),
              HasSubstr("warmup_density"));
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.scheme = "best"; }),
              HasSubstr("the option scheme is 'best'; choose one of auto, "));
  EXPECT_THAT(refusal([](ReducerOptions& o) {
                o.rules = {{"a", "x", {}, {}}};
              }),
              HasSubstr("the option rules[0].sparsifier is 'x'"));
  EXPECT_THAT(refusal([](ReducerOptions& o) {
                o.rules = {{"", {}, {}, {}}};
              }),
              HasSubstr("rules[0].match is empty"));
  EXPECT_THAT(refusal([](ReducerOptions& o) {
                o.rules = {{"a", {}, 2, {}}};
              }),
              HasSubstr("rules[0].density is 2"));
  EXPECT_THAT(refusal([](ReducerOptions& o) {
                o.rules = {{"a", {}, {}, "y"}};
              }),
              HasSubstr("rules[0].scheme is 'y'"));
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.wire = DType::kF64; }), HasSubstr("wire is f64"));
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.threads = 0; }), HasSubstr("threads is 0"));
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.timeout = {}; }), HasSubstr("timeout_s"));
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.bucket_bytes = 0; }), HasSubstr("bucket_bytes"));
  EXPECT_THAT(refusal([](ReducerOptions& o) { o.algorithm.momentum = 2; }), HasSubstr("momentum"));
}

TEST(BucketPlan, IsOnePartPerTreatmentInTheBucketsOrder) {
  ReducerOptions options;
  options.dense_below = 10;
  options.rules = {{"r*", "rows", {}, {}}, {"t", "topk", {}, {}}};
  Parameters parameters(options);
  const Shapes shapes = {{"w", {10, 10}}, {"b", {3}}, {"v", {20, 20}}, {"r1", {5, 4}},
                         {"t", {6, 6}},   {"c", {2}}, {"r2", {5, 4}}};
  std::vector<std::uint32_t> all;
  for (const auto& [name, shape] : shapes) all.push_back(parameters.add(name, shape));
  const auto plan = parameters.plan(all);
  ASSERT_EQ(plan->parts.size(), 5u);
  const auto numbers = [&](std::size_t part) {
    std::vector<std::uint32_t> found;
    for (const Segment& segment : plan->parts[part].segments) found.push_back(segment.parameter);
    return found;
  };
  EXPECT_THAT(numbers(0), ElementsAre(0, 2));
  EXPECT_THAT(numbers(1), ElementsAre(1, 5));
  EXPECT_THAT(numbers(2), ElementsAre(3));
  EXPECT_THAT(numbers(3), ElementsAre(4));
  EXPECT_THAT(numbers(4), ElementsAre(6));
  EXPECT_EQ(plan->parts[1].segments[1].begin, 100u + 3 + 400 + 20 + 36);
  EXPECT_EQ(plan->num_values, 100u + 3 + 400 + 20 + 36 + 2 + 20);
  EXPECT_EQ(parameters.plan(all), plan);
}

}  // namespace
}  // namespace tandem::training
