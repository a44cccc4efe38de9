// SPDX-License-Identifier: Apache-2.0
//
// The sparsifier auto, in virtual time: steps take what a test says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "host/training/reducer/reducers.h"
#include "training/reducer/sparsity_trial.h"

namespace tandem::training::test {
namespace {

using std::chrono::microseconds;
using Bytes = std::vector<std::byte>;

constexpr int kTrialSteps = 2 * SparsityTrial::kPairs;
const Shapes kPaysModel = {{"a", {40, 10}}, {"b", {17, 3}}};
const std::vector<std::vector<std::uint32_t>> kBuckets = {{1}, {0}};

// What a rank sees of steps that take turns.
struct Pace {
  microseconds dense{1000}, sparse{1000};
};

// A rank's reducer of `auto`, its clock, and the means of its steps.
class Rank {
 public:
  Rank(Group& group, Pace pace, const ReducerOptions& options = plain_options("auto", 0.1))
      : pace_(pace), reducer_(group, with_clock(options), kPaysModel) {}

  // Parameter 0's mean of each step.
  std::vector<Values> steps(int count) {
    std::vector<Values> means;
    for (int i = 0; i < count; ++i) {
      const bool sparse = reducer_->step() % 2 == 1;
      means.push_back(reducer_.step(kBuckets).at(0));
      clock_.advance(sparse ? pace_.sparse : pace_.dense);
    }
    return means;
  }
  Reducer& reducer() { return *reducer_; }
  SparsityTrial::Outcome outcome() { return reducer_->statistics().trial; }

 private:
  ReducerOptions with_clock(ReducerOptions options) {
    options.clock = &clock_;
    return options;
  }

  const Pace pace_;
  VirtualClock clock_;
  RankReducer reducer_;
};

std::ptrdiff_t num_sent(const Values& mean) {
  return std::ranges::count_if(mean, [](float value) { return value != 0; });
}

// Gradients have few zeros.
bool is_dense(const Values& mean) { return num_sent(mean) > 300; }

Values naive_mean(int world, std::uint64_t step) {
  Values mean(400);
  for (int rank = 0; rank < world; ++rank) {
    const Values gradient = gradient_of(0, 400, rank, step);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] / float(world);
  }
  return mean;
}

TEST(SparsityTrial, TakesTurnsAndStaysSparseWhereSparseStepsAreFaster) {
  expect_all_done(run_groups(2, [](Group& group) {
    Rank rank(group, {microseconds(2000), microseconds(500)});
    const auto means = rank.steps(kTrialSteps);
    for (int step = 0; step < kTrialSteps; ++step) {
      EXPECT_EQ(is_dense(means[static_cast<std::size_t>(step)]), step % 2 == 0) << step;
    }
    EXPECT_EQ(rank.outcome().payoff, Payoff::kOpen);
    for (const Values& mean : rank.steps(4)) EXPECT_FALSE(is_dense(mean));
    const SparsityTrial::Outcome outcome = rank.outcome();
    EXPECT_EQ(outcome.payoff, Payoff::kSparse);
    EXPECT_DOUBLE_EQ(outcome.dense_seconds, 0.002);
    EXPECT_DOUBLE_EQ(outcome.sparse_seconds, 0.0005);
  }));
}

// The first step of each kind may wait for memory and connections.
TEST(SparsityTrial, TheFirstPairDoesNotCount) {
  expect_all_done(run_groups(1, [](Group& group) {
    SparsityTrial trial;
    Clock::TimePoint now{};
    for (int step = 0; step <= kTrialSteps; ++step) {
      trial.step_begins(static_cast<std::uint64_t>(step), now);
      trial.sparsifies(group, static_cast<std::uint64_t>(step), {});
      const int length = step < 2 ? 0 : step;  // 3, 5 ... 17 ms of the sparse ones
      now += std::chrono::milliseconds(step % 2 == 1 ? length : 1000);
    }
    EXPECT_EQ(trial.outcome().payoff, Payoff::kSparse);
    EXPECT_DOUBLE_EQ(trial.outcome().sparse_seconds, 0.011) << "with 0 ms it would be 9 ms";
  }));
}

TEST(SparsityTrial, EndsDenseWhereSparseStepsAreSlowerAndSendsWhatWasKeptBack) {
  expect_all_done(run_groups(2, [](Group& group) {
    Rank rank(group, {microseconds(500), microseconds(2000)});
    const auto means = rank.steps(kTrialSteps + 3);
    Values sum(400), expected(400);
    for (std::uint64_t step = 0; step < means.size(); ++step) {
      const Values naive = naive_mean(2, step);
      for (std::size_t i = 0; i < 400; ++i) {
        sum[i] += means[step][i];
        expected[i] += naive[i];
      }
      // Steps after the one that sends the residuals are the dense ones.
      if (step > kTrialSteps) {
        EXPECT_EQ(means[step], naive);
      }
    }
    EXPECT_EQ(sum, expected);
    EXPECT_EQ(rank.outcome().payoff, Payoff::kDense);
    EXPECT_EQ(rank.reducer().statistics().residual_norm, 0);
  }));
}

Payoff outcome_of(std::array<Pace, 2> paces) {
  std::array<Payoff, 2> found{};
  expect_all_done(run_groups(2, [&](Group& group) {
    const auto place = static_cast<std::size_t>(group.rank());
    Rank rank(group, paces[place]);
    rank.steps(kTrialSteps + 1);
    found[place] = rank.outcome().payoff;
  }));
  EXPECT_EQ(found[0], found[1]);
  return found[0];
}

TEST(SparsityTrial, AsksForAGainOf3Percent) {
  const Pace enough{microseconds(100'000), microseconds(97'000)};
  const Pace too_little{microseconds(100'000), microseconds(97'100)};
  EXPECT_EQ(outcome_of({enough, enough}), Payoff::kSparse);
  EXPECT_EQ(outcome_of({too_little, too_little}), Payoff::kDense);
}

TEST(SparsityTrial, CountsTheSlowestRank) {
  const Pace faster{microseconds(1000), microseconds(100)};
  const Pace slower{microseconds(1000), microseconds(1500)};
  EXPECT_EQ(outcome_of({faster, slower}), Payoff::kDense);
  EXPECT_EQ(outcome_of({slower, faster}), Payoff::kDense);
  EXPECT_EQ(outcome_of({faster, {microseconds(1600), microseconds(1500)}}), Payoff::kSparse);
}

TEST(SparsityTrial, DoesNotCountTheFirstPair) {
  expect_all_done(run_groups(2, [](Group& group) {
    SparsityTrial trial;
    Clock::TimePoint now{};
    for (std::uint64_t step = 5; step < 5 + kTrialSteps; ++step) {
      trial.step_begins(step, now);
      EXPECT_EQ(trial.sparsifies(group, step, {}), step % 2 == 0);
      const bool first_pair = step < 7;
      now += first_pair ? microseconds(1'000'000) : microseconds(step % 2 == 0 ? 10 : 20);
    }
    trial.step_begins(5 + kTrialSteps, now);
    EXPECT_TRUE(trial.sparsifies(group, 5 + kTrialSteps, {}));
    EXPECT_DOUBLE_EQ(trial.outcome().dense_seconds, 20e-6);
    EXPECT_DOUBLE_EQ(trial.outcome().sparse_seconds, 10e-6);
  }));
}

TEST(SparsityTrial, BeginsAnewWhereARankHasTooFewTimes) {
  expect_all_done(run_groups(2, [](Group& group) {
    SparsityTrial trial;
    for (std::uint64_t step = 0; step <= kTrialSteps; ++step) {
      if (group.rank() == 0) trial.step_begins(step, Clock::TimePoint(microseconds(step)));
      trial.sparsifies(group, step, {});
    }
    EXPECT_EQ(trial.outcome().payoff, Payoff::kOpen);
    EXPECT_TRUE(trial.sparsifies(group, kTrialSteps + 1, {}));  // of the second trial's first pair
  }));
}

TEST(SparsityTrial, BeginsAnewAfterAnExactCall) {
  expect_all_done(run_groups(2, [](Group& group) {
    VirtualClock clock;
    ReducerOptions options = plain_options("auto", 0.1);
    options.clock = &clock;
    RankReducer reducer(group, options, kPaysModel);
    const auto step = [&](bool exact) {
      const bool dense = is_dense(reducer.step(kBuckets, exact).at(0));
      clock.advance(microseconds(dense ? 20 : 10));
      return dense;
    };
    for (int i = 0; i < 3; ++i) step(false);
    EXPECT_TRUE(step(true));
    for (int i = 0; i < kTrialSteps; ++i) EXPECT_EQ(step(false), i % 2 == 0) << i;
    EXPECT_EQ(reducer->statistics().trial.payoff, Payoff::kOpen);
    EXPECT_FALSE(step(false));
    EXPECT_EQ(reducer->statistics().trial.payoff, Payoff::kSparse);
  }));
}

TEST(SparsityTrial, WaitsForTheWarmUp) {
  expect_all_done(run_groups(2, [](Group& group) {
    ReducerOptions options = plain_options("auto", 0.1);
    options.warmup_steps = 2;
    options.warmup_density = 0.25;
    Rank rank(group, {}, options);
    const auto means = rank.steps(4);
    EXPECT_FALSE(is_dense(means[0]));
    EXPECT_FALSE(is_dense(means[1]));
    EXPECT_TRUE(is_dense(means[2]));
    EXPECT_FALSE(is_dense(means[3]));
  }));
}

TEST(SparsityTrial, ItsOutcomeIsPartOfTheState) {
  for (const Pace pace :
       {Pace{microseconds(500), microseconds(2000)}, Pace{microseconds(2000), microseconds(500)}}) {
    std::array<Bytes, 2> saved;
    std::array<std::vector<Values>, 2> expected;
    expect_all_done(run_groups(2, [&](Group& group) {
      const auto place = static_cast<std::size_t>(group.rank());
      Rank rank(group, pace);
      rank.steps(kTrialSteps + 2);
      saved[place] = rank.reducer().state();
      expected[place] = rank.steps(3);
    }));
    expect_all_done(run_groups(2, [&](Group& group) {
      const auto place = static_cast<std::size_t>(group.rank());
      Rank rank(group, {});
      rank.reducer().restore(saved[place]);
      EXPECT_EQ(rank.steps(3), expected[place]);
      EXPECT_NE(rank.outcome().payoff, Payoff::kOpen);
    }));
  }
}

TEST(Flush, SendsTheResidualsOfEverySparsifierWithAnExactSum) {
  for (const std::string& name : collectives::sparsifier_names()) {
    expect_all_done(run_groups(2, [&](Group& group) {
      ReducerOptions options = plain_options(name, 0.1);
      options.algorithm.decay = 1;
      RankReducer reducer(group, options, kPaysModel);
      Values sum(400), expected(400);
      for (std::uint64_t step = 0; step < 4; ++step) {
        const Values naive = naive_mean(2, step);
        const Values mean = reducer.step(kBuckets, step >= 2, step == 3).at(0);
        if (step == 2) {
          EXPECT_EQ(mean, naive);  // exact, without residuals
        }
        for (std::size_t i = 0; i < 400; ++i) {
          sum[i] += mean[i];
          expected[i] += naive[i];
        }
      }
      for (std::size_t i = 0; i < 400; ++i) EXPECT_NEAR(sum[i], expected[i], 1e-4) << name << i;
      EXPECT_EQ(reducer->statistics().residual_norm, 0) << name;
    }));
  }
}

TEST(SparsityTrial, LeavesNamedSparsifiersAlone) {
  expect_all_done(run_groups(2, [](Group& group) {
    ReducerOptions options = plain_options("auto", 0.1);
    options.rules = {{.match = "a", .sparsifier = "exdyna", .density = {}, .scheme = {}}};
    Rank rank(group, {microseconds(500), microseconds(2000)}, options);
    for (const Values& mean : rank.steps(kTrialSteps + 2)) EXPECT_FALSE(is_dense(mean));
    EXPECT_EQ(rank.outcome().payoff, Payoff::kDense);  // of the other parameter
  }));
}

}  // namespace
}  // namespace tandem::training::test
