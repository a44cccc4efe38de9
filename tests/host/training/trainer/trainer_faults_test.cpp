// SPDX-License-Identifier: Apache-2.0
//
// Values that are not a number, and a full disk.
#include "training/trainer/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <mutex>

#include "common/error.h"
#include "host/training/trainer/trainer_runs.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

TEST_F(TrainerTest, OneRanksNaNStopsAllRanks) {
  std::mutex mutex;
  std::vector<std::string> texts;
  test::run_ranks(2, [&](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    ParameterSet parameters(test::bigram_parameters(vocab_));
    test::Bigram bigram(parameters, vocab_);
    bigram.poison(group.rank() == 1);
    test::TextTrainer trainer(options_, {model_, parameters, bigram, *text_, nullptr, {}});
    try {
      trainer.run(&group);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      texts.emplace_back(error.what());
    }
  });
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_THAT(texts, testing::Each(HasSubstr("the gradient of step 1 is not a number")));
}

TEST_F(TrainerTest, AStepWithANaNCanBeLeftOut) {
  options_.on_nan = OnNaN::kSkip;
  options_.steps = 3;
  ParameterSet parameters(test::bigram_parameters(vocab_));
  parameters.draw(5);
  const std::vector<float> before(parameters.values(0).begin(), parameters.values(0).end());
  test::Bigram bigram(parameters, vocab_);
  bigram.poison(true);
  test::TextTrainer trainer(options_, {model_, parameters, bigram, *text_, nullptr, {}});
  trainer.run(nullptr);
  EXPECT_EQ(trainer.steps_done(), 3u);
  EXPECT_TRUE(std::ranges::equal(before, parameters.values(0)));
}

TEST_F(TrainerTest, ANaNCanSendTheRunBackToTheLastCheckpoint) {
  options_.on_nan = OnNaN::kBack;
  options_.out = path("out");
  options_.save_every = 5;
  ParameterSet parameters(test::bigram_parameters(vocab_));
  parameters.draw(5);
  test::Bigram bigram(parameters, vocab_);
  bigram.poison_pass = 8;  // of step 9
  KeptLog log, whole;
  std::vector<std::uint64_t> opened;
  test::TextTrainer trainer(options_,
                            {model_, parameters, bigram, *text_, nullptr, [&](std::uint64_t step) {
                               opened.push_back(step);
                               return std::vector<TrainingLog*>{&log};
                             }});
  trainer.run(nullptr);
  EXPECT_EQ(opened, (std::vector<std::uint64_t>{0, 5}));  // a table's later lines go
  EXPECT_EQ(trainer.steps_done(), 12u);
  EXPECT_EQ(bigram.passes, 9 + 7);  // steps 6 to 12 again
  TrainerOptions undisturbed = options_;
  undisturbed.out = path("other");
  run(undisturbed, whole);
  EXPECT_EQ(log.losses.at(5), whole.losses.at(5));
  EXPECT_NE(log.losses.at(6), whole.losses.at(6));  // of other samples
}

// Five times, each behind another checkpoint.
TEST_F(TrainerTest, ACheckpointForgetsTheNaNsBeforeIt) {
  options_.on_nan = OnNaN::kBack;
  options_.out = path("out");
  options_.save_every = 2;
  ParameterSet parameters(test::bigram_parameters(vocab_));
  parameters.draw(5);
  test::Bigram bigram(parameters, vocab_);
  int times = 0;
  test::TextTrainer trainer(options_,
                            {model_, parameters, bigram, *text_, nullptr, [&](std::uint64_t) {
                               bigram.poison_pass = times++ < 5 ? bigram.passes + 2 : -1;
                               return std::vector<TrainingLog*>();
                             }});
  trainer.run(nullptr);
  EXPECT_EQ(trainer.steps_done(), 12u);
  EXPECT_EQ(times, 6);
}

TEST_F(TrainerTest, ANaNThatComesAgainEndsTheRun) {
  options_.on_nan = OnNaN::kBack;
  options_.out = path("out");
  options_.steps = 2;
  ParameterSet parameters(test::bigram_parameters(vocab_));
  test::Bigram bigram(parameters, vocab_);
  const auto refusal = [&](Trainer& trainer) -> std::string {
    try {
      trainer.run(nullptr);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  bigram.poison(true);
  test::TextTrainer nowhere(options_, {model_, parameters, bigram, *text_, nullptr, {}});
  EXPECT_THAT(refusal(nowhere), HasSubstr("no checkpoint to go back to"));
  KeptLog log;
  run(options_, log);
  options_.steps = 4;
  test::TextTrainer trainer(options_, {model_, parameters, bigram, *text_, nullptr, {}});
  trainer.resume(find_checkpoint(path("out")));
  EXPECT_THAT(refusal(trainer), HasSubstr("others since the last checkpoint"));
  EXPECT_EQ(bigram.passes, 1 + 4);
}

// Files end at 1,000 bytes while an object exists, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = 1000;
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(TrainerTest, AFullDiskLeavesTheCheckpointsBefore) {
  options_.out = path("out");
  options_.steps = 4;
  KeptLog log;
  run(options_, log);
  options_.steps = 8;
  options_.save_every = 6;  // that one fails, and the run goes on; the last one ends it
  std::string text;
  {
    const FullDisk full;
    try {
      run(options_, log, nullptr, path("out"));
    } catch (const Error& error) {
      text = error.what();
    }
  }
  EXPECT_THAT(text, HasSubstr("cannot write '" + path("out/.step-00000008.partial-")));
  EXPECT_EQ(log.last.step, 8u);
  EXPECT_EQ(find_checkpoint(path("out")).fields.at("step"), 4);
  for (const auto& entry : fs::directory_iterator(path("out"))) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  }
  run(options_, log, nullptr, path("out"));
  EXPECT_EQ(find_checkpoint(path("out")).fields.at("step"), 8);
}

}  // namespace
}  // namespace tandem::training
