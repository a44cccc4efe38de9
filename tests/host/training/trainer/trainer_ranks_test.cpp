// SPDX-License-Identifier: Apache-2.0
//
// Ranks that train together: sparsified and dense, after a loss, from one checkpoint.
#include "training/trainer/trainer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "host/training/trainer/trainer_runs.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

TEST_F(TrainerTest, RanksOfASparsifiedRunResumeBitForBit) {
  options_.reduce.choice = parse_reduce("exdyna@0.05");
  options_.out = path("out");
  options_.save_every = 6;
  KeptLog whole, second;
  const auto expected = run_world(3, options_, whole);
  EXPECT_LT(whole.last.density_sent, 0.5);
  EXPECT_GT(whole.last.bytes_sent, 0u);
  EXPECT_EQ(run_world(3, options_, second, path("out/step-00000006")), expected);
  for (const auto& [step, loss] : second.losses) EXPECT_EQ(loss, whole.losses.at(step));
}

// What is kept back are steps, not gradients: of these Adam takes a few, whatever their sum.
TEST_F(TrainerTest, ASparsifiedRunReachesTheLossOfADenseOne) {
  options_.steps = 250;
  options_.schedule = {0.03, 0, 250, RateDecay::kConstant, 1};
  const auto ended = [&](const char* reduce, bool steps) {
    options_.reduce.choice = parse_reduce(reduce);
    options_.reduce.steps = steps;
    KeptLog log;
    run_world(2, options_, log);
    double sum = 0;
    for (std::uint64_t step = 241; step <= 250; ++step) sum += log.losses.at(step) / 10;
    return sum;
  };
  const double dense = ended("dense", true);
  const double by_steps = ended("exdyna@0.02", true) / dense;
  const double by_gradients = ended("exdyna@0.02", false) / dense;
  EXPECT_LT(by_steps, 1.05);
  EXPECT_GT(by_gradients, by_steps);
}

TEST_F(TrainerTest, SparsifiedAndDenseRunsGoOnFromEachOther) {
  options_.out = path("out");
  options_.save_every = 6;
  for (const char* first : {"dense", "exdyna@0.05"}) {
    options_.reduce.choice = parse_reduce(first);
    KeptLog before, other;
    run_world(2, options_, before);
    options_.reduce.choice = parse_reduce(first == std::string("dense") ? "exdyna@0.05" : "dense");
    fs::remove_all(path("out/step-00000012"));
    run_world(2, options_, other, path("out/step-00000006"));
    EXPECT_EQ(other.losses.begin()->first, 7u);
    EXPECT_EQ(other.losses.at(7), before.losses.at(7)) << "the weights of the checkpoint";
    EXPECT_LT(other.losses.at(12), before.losses.at(1));
    fs::remove_all(path("out"));
  }
}

TEST_F(TrainerTest, DenseRanksTakeTheStepsOfOneRankWithTheirWholeBatch) {
  KeptLog one, four;
  TrainerOptions all = options_;
  all.batch = 8;
  const auto expected = run(all, one);
  const auto values = run_world(4, options_, four);
  for (std::size_t at = 0; at < values.size(); ++at) ASSERT_NEAR(values[at], expected[at], 2e-4);
  for (const auto& [step, loss] : four.losses) EXPECT_NEAR(loss, one.losses.at(step), 1e-4);
}

TEST_F(TrainerTest, TheRanksThatAreLeftGoOnFromTheLastCheckpoint) {
  options_.out = path("out");
  options_.save_every = 4;
  options_.save_first = true;
  KeptLog log;
  std::atomic<std::uint64_t> steps{0};
  test::run_ranks(3, [&](std::unique_ptr<transport::Transport> transport) {
    auto group = std::make_unique<collectives::Group>(std::move(transport));
    ParameterSet parameters(test::bigram_parameters(vocab_));
    parameters.draw(5);
    test::Bigram bigram(parameters, vocab_);
    const bool leaves = group->rank() == 1;
    test::TextTrainer trainer(options_, {model_, parameters, bigram, *text_, nullptr, only(log)});
    if (leaves) {
      bigram.leave_at_pass = 6;
      EXPECT_THROW(trainer.run(group.get()), std::runtime_error);
      return;
    }
    EXPECT_THROW(trainer.run(group.get()), transport::TransportError);
    *group = group->shrink(Deadline::after(std::chrono::seconds(240)));
    EXPECT_EQ(group->world(), 2);
    trainer.run(group.get());
    steps += trainer.steps_done();
  });
  EXPECT_EQ(steps.load(), 24u);
  EXPECT_EQ(log.losses.size(), 12u);
  EXPECT_EQ(find_checkpoint(path("out")).fields.at("world"), 2);
}

// As after a loss while a checkpoint was saved: each rank has heard of another one.
TEST_F(TrainerTest, RanksGoOnFromTheCheckpointOfTheFirst) {
  options_.save_every = 4;
  options_.keep = 0;
  std::vector<std::vector<float>> ended(2);
  test::run_ranks(2, [&](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    const auto rank = static_cast<std::size_t>(group.rank());
    TrainerOptions options = options_;
    options.out = path("out" + std::to_string(rank));
    ParameterSet parameters(test::bigram_parameters(vocab_));
    parameters.draw(5);
    test::Bigram bigram(parameters, vocab_);
    int looks = 0;
    test::TextTrainer trainer(options, {model_, parameters, bigram, *text_, nullptr, {}, [&] {
                                          return ++looks == (rank == 0 ? 2 : 1);
                                        }});
    trainer.run(nullptr);
    EXPECT_EQ(trainer.steps_done(), rank == 0 ? 8u : 4u);
    trainer.run(&group);
    EXPECT_EQ(trainer.steps_done(), 12u);
    ended[rank].assign(parameters.values(0).begin(), parameters.values(0).end());
  });
  KeptLog log;
  const auto expected = run_world(2, options_, log, path("out0/step-00000008"));
  EXPECT_EQ(ended[0], expected);
  EXPECT_EQ(ended[1], expected);
}

}  // namespace
}  // namespace tandem::training
