// SPDX-License-Identifier: Apache-2.0
//
// The loop of a run on a model that is computed by hand: steps, resumed runs, scores.
#include "training/trainer/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "host/training/trainer/trainer_runs.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

TEST_F(TrainerTest, LearnsTheText) {
  KeptLog log;
  options_.steps = 60;
  options_.schedule = {0.3, 2, 60, RateDecay::kCosine, 0.1};
  run(options_, log);
  EXPECT_NEAR(log.losses.at(1), std::log(vocab_), 0.1);
  EXPECT_LT(log.losses.at(60), 3.0);
}

TEST_F(TrainerTest, AResumedRunHasTheBitsOfOneThatWasNotInterrupted) {
  KeptLog whole, first, second;
  const auto expected = run(options_, whole);
  TrainerOptions half = options_;
  half.out = path("out");
  half.save_every = 5;
  half.steps = 12;
  run(half, first);
  fs::remove_all(path("out/step-00000012"));
  const auto resumed = run(half, second, nullptr, path("out/step-00000010"));
  EXPECT_EQ(resumed, expected);
  EXPECT_EQ(second.losses.begin()->first, 11u);
  for (const auto& [step, loss] : second.losses) EXPECT_EQ(loss, whole.losses.at(step));
}

TEST_F(TrainerTest, FewerStepsThanAResumedRunHasAreRefused) {
  KeptLog log;
  options_.out = path("out");
  options_.steps = 3;
  options_.described = {{"--batch", "2"}};
  run(options_, log);
  EXPECT_EQ(find_checkpoint(path("out")).fields.at("options").at("--batch"), "2");
  run(options_, log, nullptr, path("out"));  // nothing is left to do
  options_.steps = 2;
  try {
    run(options_, log, nullptr, path("out"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("step-00000003' is of step 3, and --steps 2 counts from"));
  }
}

TEST_F(TrainerTest, ACheckpointWhoseReductionIsNoneIsNamed) {
  KeptLog log;
  options_.out = path("out");
  options_.steps = 1;
  run(options_, log);
  const std::string file = path("out/step-00000001/checkpoint.json");
  std::ifstream in(file);
  auto fields = nlohmann::json::parse(in);
  options_.steps = 2;
  for (const char* reduce : {"3", "{}", "{\"choice\": 3}"}) {
    fields["reduce"] = nlohmann::json::parse(reduce);
    std::ofstream(file) << fields;
    try {
      run(options_, log, nullptr, path("out"));
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("field 'reduce': "));
    }
  }
}

TEST_F(TrainerTest, ARunEndsAtACheckpointForRanksThatWait) {
  KeptLog whole, log;
  const auto expected = run(options_, whole);
  options_.out = path("out");
  options_.save_every = 4;
  ParameterSet parameters(test::bigram_parameters(vocab_));
  parameters.draw(5);
  test::Bigram bigram(parameters, vocab_);
  int looks = 0;
  test::TextTrainer trainer(options_, {model_, parameters, bigram, *text_, nullptr, only(log),
                                       [&] { return ++looks == 2; }});
  trainer.run(nullptr);
  EXPECT_TRUE(trainer.wants_ranks());
  EXPECT_EQ(trainer.steps_done(), 8u);
  EXPECT_EQ(find_checkpoint(path("out")).fields.at("step"), 8);
  trainer.run(nullptr);
  EXPECT_FALSE(trainer.wants_ranks());
  EXPECT_EQ(looks, 3);
  EXPECT_TRUE(std::ranges::equal(parameters.values(0), expected));
}

TEST_F(TrainerTest, NobodyJoinsAtTheLastCheckpoint) {
  options_.out = path("out");
  options_.steps = options_.save_every = 4;
  ParameterSet parameters(test::bigram_parameters(vocab_));
  test::Bigram bigram(parameters, vocab_);
  test::TextTrainer trainer(options_,
                            {model_, parameters, bigram, *text_, nullptr, {}, [] { return true; }});
  trainer.run(nullptr);
  EXPECT_EQ(trainer.steps_done(), 4u);
  EXPECT_FALSE(trainer.wants_ranks());
}

TEST_F(TrainerTest, AccumulatedPassesAreOneStep) {
  KeptLog one, four;
  TrainerOptions all = options_, parts = options_;
  all.batch = 8;
  parts.accumulate = 4;
  const auto expected = run(all, one), values = run(parts, four);
  for (std::size_t at = 0; at < values.size(); ++at) ASSERT_NEAR(values[at], expected[at], 2e-4);
  EXPECT_EQ(four.last.tokens, 8u * 16u);
}

TEST_F(TrainerTest, ClipsTheNormOfTheWholeGradient) {
  TrainerOptions plain = options_, clipped = options_;
  plain.rule = clipped.rule = Sgd{};
  plain.steps = clipped.steps = 1;
  plain.clip = 0;
  clipped.clip = 1e-3;
  KeptLog log;
  TrainerOptions none = plain;
  none.steps = 0;
  const auto before = run(none, log), free = run(plain, log);
  const double norm = log.last.gradient_norm;
  const auto held = run(clipped, log);
  EXPECT_GT(norm, 0.01);
  for (std::size_t at = 0; at < before.size(); ++at) {
    ASSERT_NEAR(held[at] - before[at], (free[at] - before[at]) * 1e-3 / norm, 1e-7);
  }
}

TEST_F(TrainerTest, RefusesACheckpointOfAnotherOptimizer) {
  options_.out = path("out");
  options_.steps = 1;
  KeptLog log;
  run(options_, log);
  options_.rule = Sgd{};
  try {
    run(options_, log, nullptr, path("out"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("of the optimizer adam; resume with the same --optimizer"));
  }
}

TEST_F(TrainerTest, ScoresATextByItsWindows) {
  KeptLog log;
  ParameterSet parameters(test::bigram_parameters(vocab_));
  test::Bigram bigram(parameters, vocab_);  // zeros: every token is as likely
  options_.steps = 0;
  test::TextTrainer trainer(options_, {model_, parameters, bigram, *text_, &*text_, only(log)});
  trainer.run(nullptr);
  EXPECT_EQ(log.evaluated.tokens, text_->size());  // each window begins with BOS
  EXPECT_NEAR(log.evaluated.mean_nll, std::log(vocab_), 1e-5);
}

}  // namespace
}  // namespace tandem::training
