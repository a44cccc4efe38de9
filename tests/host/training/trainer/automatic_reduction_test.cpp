// SPDX-License-Identifier: Apache-2.0
//
// What --reduce auto chooses by a trial, and what it undoes.
#include "training/trainer/trainer.h"

#include <gtest/gtest.h>

#include <array>

#include "common/clock.h"
#include "common/error.h"
#include "host/training/trainer/trainer_runs.h"

namespace tandem::training {
namespace {

// Says how long the steps of --reduce auto's trial take: by kind, in their order.
class TrialClock final : public Clock {
 public:
  explicit TrialClock(std::array<double, 2> seconds) : seconds_(seconds) {}
  TimePoint now() const override {
    const int call = calls_++, step = call / 2;  // one at the beginning of a step, one at its end
    if (call % 2 == 0) return clock_.now();
    const int block = ReduceTrial::kUnmeasured + ReduceTrial::kMeasured;
    const bool is_first = step % block < ReduceTrial::kUnmeasured;
    const double seconds = is_first ? 100 : seconds_[static_cast<std::size_t>(step / block % 2)];
    clock_.advance(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
    return clock_.now();
  }
  int calls() const { return calls_; }

 private:
  const std::array<double, 2> seconds_;
  mutable VirtualClock clock_;
  mutable int calls_ = 0;
};

class AutomaticReductionTest : public TrainerTest {
 protected:
  // seconds: of a dense and a sparse step, by rank. Returns rank 0's values and calls of the clock.
  std::pair<std::vector<float>, int> run_auto(const std::vector<std::array<double, 2>>& seconds,
                                              KeptLog& log, const std::string& from = {}) {
    std::pair<std::vector<float>, int> result;
    TrainerOptions options = options_;
    options.reduce.choice = parse_reduce("auto");
    test::run_ranks(static_cast<int>(seconds.size()), [&](auto transport) {
      collectives::Group group(std::move(transport));
      const auto rank = static_cast<std::size_t>(group.rank());
      const TrialClock clock(seconds[rank]);
      TrainerOptions own = options;
      own.clock = &clock;
      KeptLog other;
      const auto values = run(own, rank == 0 ? log : other, &group, from);
      if (rank == 0) result = {values, clock.calls()};
    });
    return result;
  }

  static constexpr int kTrialCalls =
      4 * ReduceTrial::kRounds * (ReduceTrial::kUnmeasured + ReduceTrial::kMeasured);
};

// Local directions or the exact dense update, each as if it had been named.
TEST_F(AutomaticReductionTest, ARunHasTheBitsOfTheFasterKind) {
  options_.steps = 40;  // behind the dense first steps of exdyna@0.01
  KeptLog dense, sparse, chosen;
  const auto densely = run_world(2, options_, dense);
  options_.reduce.choice = parse_reduce("exdyna@0.01");
  const auto sparsely = run_world(2, options_, sparse);
  ASSERT_NE(densely, sparsely);
  EXPECT_EQ(run_auto({{1, 0.9}, {1, 0.9}}, chosen), std::pair(sparsely, kTrialCalls));
  EXPECT_EQ(chosen.losses, sparse.losses);
  EXPECT_EQ(run_auto({{1, 0.98}, {1, 0.98}}, chosen), std::pair(densely, kTrialCalls));
  EXPECT_EQ(chosen.losses, dense.losses);
  // The slowest rank counts.
  EXPECT_EQ(run_auto({{1, 0.5}, {1, 1.1}}, chosen).first, densely);
  EXPECT_EQ(run_auto({{0.1, 0.5}, {1, 0.5}}, chosen).first, sparsely);
}

// Breaks a trial off behind its first steps, as the loss of a rank does.
class BrokenClock final : public Clock {
 public:
  TimePoint now() const override {
    if (++calls_ > 2 * ReduceTrial::kUnmeasured) throw Error("test", "lost");
    return {};
  }

 private:
  mutable int calls_ = 0;
};

TEST_F(AutomaticReductionTest, ATrialThatBreaksOffPutsTheWeightsBack) {
  options_.reduce.choice = parse_reduce("auto");
  options_.schedule.warmup_steps = 0;
  for (const Offload offload : {Offload::kNone, Offload::kHost}) {
    options_.offload = offload;
    test::run_ranks(2, [&](auto transport) {
      collectives::Group group(std::move(transport));
      const BrokenClock clock;
      TrainerOptions own = options_;
      own.clock = &clock;
      ParameterSet parameters(test::bigram_parameters(vocab_));
      parameters.draw(5);
      const auto values = parameters.values(0);
      const std::vector<float> drawn(values.begin(), values.end());
      test::Bigram bigram(parameters, vocab_);
      KeptLog log;
      test::TextTrainer trainer(own, {model_, parameters, bigram, *text_, nullptr, only(log)});
      EXPECT_THROW(trainer.run(&group), std::exception);
      EXPECT_EQ(std::vector<float>(values.begin(), values.end()), drawn);
    });
  }
}

TEST_F(AutomaticReductionTest, OneRankNeedsNoTrial) {
  KeptLog dense, chosen;
  const auto values = run(options_, dense);
  EXPECT_EQ(run_auto({{1, 0.1}}, chosen), std::pair(values, 0));
}

TEST_F(AutomaticReductionTest, AResumedRunKeepsItsChoiceUnlessTheRanksDiffer) {
  options_.steps = 40;
  options_.save_every = 34;
  options_.out = path("out");
  KeptLog whole, log;
  const auto expected = run_auto({{1, 0.9}, {1, 0.9}}, whole).first;
  EXPECT_EQ(run_auto({{1, 2}, {1, 2}}, log, path("out/step-00000034")), std::pair(expected, 0));
  EXPECT_EQ(run_auto({{1, 2}, {1, 2}, {1, 2}}, log, path("out/step-00000034")).second, kTrialCalls);
  EXPECT_EQ(log.last.density_sent, 1);
}

}  // namespace
}  // namespace tandem::training
