// SPDX-License-Identifier: Apache-2.0
//
// The loop of a run on a model that is computed by hand: resumed runs, ranks, NaN, saving.
#include "training/trainer/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <utility>

#include "common/clock.h"
#include "common/error.h"
#include "host/training/trainer/bigram.h"
#include "host/training/trainer/text_trainer.h"
#include "support/ranks.h"
#include "support/scratch_path.h"
#include "training/trainer/decoder_model.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

// A log that keeps what it hears.
class KeptLog final : public TrainingLog {
 public:
  void step(const StepFigures& figures) override {
    losses[figures.step] = figures.loss;
    last = figures;
  }
  void evaluation(const EvaluationFigures& figures) override { evaluated = figures; }

  std::map<std::uint64_t, double> losses;
  StepFigures last;
  EvaluationFigures evaluated;
};

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    fs::create_directories(folder_.path());
    std::ofstream(path("model.toml")) << test::kSmallDecoder;
    std::ofstream text(path("text.txt"));
    for (int line = 0; line < 60; ++line) text << "the cat " << line * line << " sat on a mat.\n";
    text.close();
    model_ = make_decoder(path("model.toml"), "");
    vocab_ = model_.config.vocab_size;
    text_.emplace(path("text.txt"), *model_.tokenizer);
    options_.steps = 12;
    options_.batch = 2;
    options_.schedule = {0.1, 2, 12, RateDecay::kCosine, 0.1};
    options_.reduce.dense_below = 64;
  }

  std::string path(const std::string& name) const { return folder_.string() + "/" + name; }

  static auto only(TrainingLog& log) {
    return [&log](std::uint64_t) { return std::vector<TrainingLog*>{&log}; };
  }

  // One rank's run; the values of the parameters at its end.
  std::vector<float> run(const TrainerOptions& options, KeptLog& log,
                         collectives::Group* group = nullptr, const std::string& from = {}) {
    ParameterSet parameters(test::bigram_parameters(vocab_));
    parameters.draw(5);
    test::Bigram bigram(parameters, vocab_);
    test::TextTrainer trainer(options, {model_, parameters, bigram, *text_, nullptr, only(log)});
    if (!from.empty()) trainer.resume(find_checkpoint(from));
    trainer.run(group);
    const auto values = parameters.values(0);
    return {values.begin(), values.end()};
  }

  // Ranks as threads; rank 0's values.
  std::vector<float> run_world(int world, const TrainerOptions& options, KeptLog& log,
                               const std::string& from = {}) {
    std::vector<float> result;
    test::run_ranks(world, [&](std::unique_ptr<transport::Transport> transport) {
      collectives::Group group(std::move(transport));
      KeptLog other;
      const bool first = group.rank() == 0;
      const auto values = run(options, first ? log : other, &group, from);
      if (first) result = values;
    });
    return result;
  }

  test::ScratchPath folder_{"trainer"};
  DecoderModel model_;
  std::optional<TokenText> text_;
  int vocab_ = 0;
  TrainerOptions options_;
};

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
    *group = group->shrink(Deadline::after(std::chrono::seconds(20)));
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
