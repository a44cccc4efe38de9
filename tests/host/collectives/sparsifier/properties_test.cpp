// SPDX-License-Identifier: Apache-2.0
//
// What holds for every sparsifier: equal results on all ranks, mass, determinism, saved state.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

using Named = std::tuple<std::string, Residence>;

class EverySparsifier : public testing::TestWithParam<Named> {
 protected:
  void SetUp() override {
    if (!residence().missing.empty()) GTEST_SKIP() << residence().missing;
  }
  const std::string& name() const { return std::get<0>(GetParam()); }
  const Residence& residence() const { return std::get<1>(GetParam()); }
  Training training(double density = 0.05) const {
    Training training;
    training.name = name();
    training.options = plain_options(density);
    training.residence = residence();
    return training;
  }
  bool quantises() const { return name() == "chunk_topk"; }
};

void expect_no_errors(const std::vector<RankHistory>& ranks) {
  for (const RankHistory& rank : ranks) ASSERT_EQ(rank.error, "");
}

void expect_same_steps(const RankHistory& a, const RankHistory& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t step = 0; step < a.steps.size(); ++step) {
    EXPECT_EQ(a.steps[step].mean.indices, b.steps[step].mean.indices) << "step " << step;
    EXPECT_EQ(a.steps[step].mean.values, b.steps[step].mean.values) << "step " << step;
  }
}

// [num_values], over all ranks and steps: gradients - n means - residuals.
std::vector<double> missing_mass(const Training& training, const std::vector<RankHistory>& ranks) {
  std::vector<double> mass(training.num_values);
  for (int rank = 0; rank < training.world; ++rank) {
    const RankHistory& history = ranks[static_cast<std::size_t>(rank)];
    for (std::uint64_t step = 0; step < training.steps; ++step) {
      const Gradient gradient = training.gradient(rank, step);
      for (std::size_t i = 0; i < mass.size(); ++i) mass[i] += gradient[i];
      const auto indices = indices_of(history.steps[step].mean);
      const auto values = values_of(history.steps[step].mean);
      for (std::size_t i = 0; i < indices.size(); ++i) mass[indices[i]] -= values[i];
    }
    for (std::size_t i = 0; i < mass.size(); ++i) mass[i] -= history.residual[i];
  }
  return mass;
}

TEST_P(EverySparsifier, GivesEveryRankTheSameBits) {
  for (const int world : {1, 2, 3, 4}) {
    Training run = training();
    run.world = world;
    const auto ranks = train(run);
    expect_no_errors(ranks);
    for (const RankHistory& rank : ranks) expect_same_steps(ranks[0], rank);
  }
}

TEST_P(EverySparsifier, SendsSortedUniqueIndicesAndSomethingInEveryStep) {
  const Training run = training();
  const auto ranks = train(run);
  expect_no_errors(ranks);
  for (const StepResult& step : ranks[0].steps) {
    const auto indices = indices_of(step.mean);
    EXPECT_FALSE(indices.empty());
    EXPECT_LT(indices.size(), run.num_values);
    EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
    EXPECT_EQ(std::set<std::uint32_t>(indices.begin(), indices.end()).size(), indices.size());
  }
}

TEST_P(EverySparsifier, LosesAndInventsNoMass) {
  for (const int world : {1, 2, 4}) {
    Training run = training();
    run.world = world;
    run.gradient = training_gradients(run.num_values);
    const auto ranks = train(run);
    expect_no_errors(ranks);
    double sent = 0;
    for (const StepResult& step : ranks[0].steps)
      sent += static_cast<double>(step.mean.num_entries);
    EXPECT_GT(sent, 0);
    for (const double missing : missing_mass(run, ranks)) {
      ASSERT_NEAR(missing, 0, quantises() ? 1e-3 : 0) << "world " << world;
    }
  }
}

TEST_P(EverySparsifier, ExclusiveRanksSelectNoPlaceTwice) {
  const bool exclusive = name() == "micro" || name() == "exdyna" || name() == "deft" ||
                         name() == "cltk" || name() == "randomk";
  const auto ranks = train(training());
  expect_no_errors(ranks);
  for (std::size_t step = 0; step < ranks[0].steps.size(); ++step) {
    std::uint64_t selected = 0;
    for (const RankHistory& rank : ranks) selected += rank.steps[step].selected;
    const std::uint64_t entries = ranks[0].steps[step].mean.num_entries;
    if (!exclusive) {
      EXPECT_GE(selected, entries) << "step " << step;
      continue;
    }
    EXPECT_EQ(ranks[0].steps[step].build_up, 1) << "step " << step;
    if (name() == "randomk") continue;  // its places are nobody's
    EXPECT_EQ(selected, entries) << "step " << step;
  }
}

TEST_P(EverySparsifier, RepeatsBitByBitWithAnyNumberOfThreads) {
  if (residence().make) GTEST_SKIP() << "threads select in host memory";
  Training run = training(0.01);
  run.num_values = (3 << 20) + 77;  // four parts
  run.world = 2;
  run.steps = 3;
  const Gradient base = training_gradient(100'003, 0, 0);
  run.gradient = [&](int rank, std::uint64_t step) {
    Gradient gradient(run.num_values);
    for (std::uint64_t i = 0; i < run.num_values; ++i) {
      gradient[i] = base[(i * 7 + static_cast<std::uint64_t>(rank) * 31 + step) % base.size()];
    }
    return gradient;
  };
  const auto alone = train(run);
  ThreadPool threads(3);
  run.options.threads = &threads;
  const auto threaded = train(run);
  expect_no_errors(alone);
  expect_no_errors(threaded);
  for (std::size_t rank = 0; rank < alone.size(); ++rank) {
    expect_same_steps(alone[rank], threaded[rank]);
    EXPECT_EQ(alone[rank].residual, threaded[rank].residual);
  }
}

TEST_P(EverySparsifier, ContinuesFromASavedStateAsIfItHadNotStopped) {
  Training whole = training();
  whole.steps = 12;
  whole.options.momentum = 0.5;
  whole.options.threshold_steps = 8;
  const auto uninterrupted = train(whole);
  Training part = whole;
  part.steps = 5;
  std::vector<SparsifierState> states;
  for (const RankHistory& rank : train(part)) states.push_back(rank.state);
  part.steps = 7;
  const auto resumed = resume(part, states);
  expect_no_errors(resumed);
  for (std::size_t rank = 0; rank < resumed.size(); ++rank) {
    EXPECT_EQ(resumed[rank].residual, uninterrupted[rank].residual);
    for (std::size_t step = 0; step < 7; ++step) {
      EXPECT_EQ(resumed[rank].steps[step].mean.values,
                uninterrupted[rank].steps[5 + step].mean.values);
    }
  }
}

TEST_P(EverySparsifier, RefusesAStateThatLacksAField) {
  const auto sparsifier = make(training());
  const SparsifierState whole = sparsifier->state();
  sparsifier->restore(whole);
  for (const auto& [field, tensor] : whole.tensors) {
    SparsifierState lacking = whole;
    lacking.tensors.erase(field);
    EXPECT_THROW(sparsifier->restore(lacking), Error) << field;
  }
  for (const auto& [field, numbers] : whole.numbers) {
    SparsifierState lacking = whole;
    lacking.numbers.erase(field);
    EXPECT_THROW(sparsifier->restore(lacking), Error) << field;
  }
}

INSTANTIATE_TEST_SUITE_P(Names, EverySparsifier,
                         testing::Combine(testing::ValuesIn(sparsifier_names()),
                                          testing::ValuesIn(residences())),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace tandem::collectives::test
