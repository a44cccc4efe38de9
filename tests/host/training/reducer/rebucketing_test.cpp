// SPDX-License-Identifier: Apache-2.0
//
// Buckets are composed anew between steps, as DDP does after its first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/training/reducer/reducers.h"

namespace tandem::training::test {
namespace {

using Composition = std::vector<std::vector<std::uint32_t>>;

const Shapes kRebucketModel = {
    {"a", {40, 10}}, {"b", {90}}, {"c", {17, 3}}, {"d", {200}}, {"e", {64, 2}}};
const std::vector<Composition> kCompositions = {{{0, 1, 2, 3, 4}},
                                                {{4, 3}, {2, 1, 0}},
                                                {{4, 3}, {2, 1, 0}},
                                                {{1}, {0, 4}, {2, 3}},
                                                {{3, 2, 1, 0, 4}}};

// What a rank put in, what came out, and what is left, by parameter.
struct Ledger {
  std::map<std::uint32_t, std::vector<double>> gradients, means, residuals;
};

void add(std::vector<double>& to, const auto& values) {
  to.resize(values.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += values[i];
}

Ledger train(Group& group, const ReducerOptions& options) {
  RankReducer reducer(group, options, kRebucketModel);
  Ledger ledger;
  for (std::uint64_t step = 0; step < kCompositions.size(); ++step) {
    for (std::uint32_t parameter = 0; parameter < kRebucketModel.size(); ++parameter) {
      add(ledger.gradients[parameter],
          gradient_of(parameter, num_values_of(kRebucketModel[parameter].second), group.rank(),
                      step));
    }
    for (const auto& [parameter, mean] : reducer.step(kCompositions[step])) {
      add(ledger.means[parameter], mean);
    }
  }
  const ReducerState state = parse_state(reducer->state());
  for (std::uint32_t parameter = 0; parameter < kRebucketModel.size(); ++parameter) {
    add(ledger.residuals[parameter], state.parameters[parameter].tensors.at(kResidual));
  }
  return ledger;
}

class RebucketingOfEverySparsifier : public testing::TestWithParam<std::string> {};

TEST_P(RebucketingOfEverySparsifier, LosesNoMassWhenBucketsAreComposedAnew) {
  for (const int world : {1, 2, 4}) {
    std::vector<Ledger> ledgers(static_cast<std::size_t>(world));
    expect_all_done(run_groups(world, [&](Group& group) {
      ledgers[static_cast<std::size_t>(group.rank())] =
          train(group, plain_options(GetParam(), 0.1));
    }));
    bool kept = false, sent = false;
    for (std::uint32_t parameter = 0; parameter < kRebucketModel.size(); ++parameter) {
      for (std::size_t i = 0; i < num_values_of(kRebucketModel[parameter].second); ++i) {
        double in = 0, left = 0;
        for (const Ledger& ledger : ledgers) {
          in += ledger.gradients.at(parameter)[i];
          left += ledger.residuals.at(parameter)[i];
        }
        const double out = world * ledgers[0].means.at(parameter)[i];
        ASSERT_NEAR(out + left, in, 2e-3) << GetParam() << ": parameter " << parameter;
        kept = kept || left != 0;
        sent = sent || out != 0;
      }
    }
    EXPECT_TRUE(kept);
    EXPECT_TRUE(sent);
  }
}

INSTANTIATE_TEST_SUITE_P(Rebucketing, RebucketingOfEverySparsifier,
                         testing::ValuesIn(collectives::sparsifier_names()));

const SavedPart& part_with(const ReducerState& state, std::uint32_t parameter) {
  for (const SavedPart& part : state.parts) {
    if (part.parameters.front() == parameter) return part;
  }
  throw std::out_of_range("no part begins with that parameter");
}

TEST(Rebucketing, KeepsThresholdsOfACompositionAndSeedsThemAnewForAnother) {
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options("micro", 0.05), kRebucketModel);
    const Composition two = {{4, 3}, {2, 1, 0}};
    reducer.step(two);
    reducer.step(two);
    const auto kept = part_with(parse_state(reducer->state()), 2);
    EXPECT_EQ(kept.step, 2u);
    // One bucket is composed anew, the other is not.
    reducer.step({{4}, {3}, {2, 1, 0}});
    const ReducerState after = parse_state(reducer->state());
    EXPECT_EQ(part_with(after, 2).step, 3u);
    EXPECT_EQ(part_with(after, 4).step, 1u);
    EXPECT_EQ(after.parts.size(), 3u);
  }));
}

TEST(Rebucketing, MovesMomentumWithItsParameter) {
  expect_all_done(run_groups(2, [&](Group& group) {
    ReducerOptions options = plain_options("dgc", 0);  // nothing is sent: all is in the state
    options.algorithm.momentum = 0.5;
    RankReducer reducer(group, options, kRebucketModel);
    std::vector<double> velocity(90), residual(90);
    for (std::uint64_t step = 0; step < kCompositions.size(); ++step) {
      reducer.step(kCompositions[step]);
      const Values gradient = gradient_of(1, 90, group.rank(), step);
      for (std::size_t i = 0; i < 90; ++i) {
        velocity[i] = 0.5 * velocity[i] + gradient[i];
        residual[i] += velocity[i];
      }
    }
    const ReducerState state = parse_state(reducer->state());
    const Tensors& found = state.parameters[1].tensors;
    for (std::size_t i = 0; i < 90; ++i) {
      ASSERT_EQ(found.at("velocity")[i], velocity[i]);
      ASSERT_EQ(found.at(kResidual)[i], residual[i]);
    }
  }));
}

TEST(Rebucketing, KeepsTheResidualOfAParameterThatABucketLeavesOut) {
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 0), kRebucketModel);
    reducer.step({{0, 1}});
    reducer.step({{0}});
    const Values first = gradient_of(1, 90, group.rank(), 0);
    const ReducerState state = parse_state(reducer->state());
    EXPECT_THAT(state.parameters[1].tensors.at(kResidual), testing::ElementsAreArray(first));
  }));
}

}  // namespace
}  // namespace tandem::training::test
