// SPDX-License-Identifier: Apache-2.0
//
// Runs over ranks against the run on one rank: losses, norms and weights have the same bits under
// every schedule, with layers that move, with frozen ones, and after a resume on other ranks.
#include "training/pipeline/pipeline_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "common/error.h"
#include "host/training/pipeline/toy_layers.h"
#include "support/ranks.h"
#include "support/scratch_path.h"

namespace tandem::training {
namespace {

using testing::HasSubstr;

constexpr int kBlocks = 5, kRows = 2, kColumns = 3;

// Tokens of a sample follow from its number.
class ToySamples {
 public:
  TokenBatch at(std::uint64_t first) {
    for (std::size_t place = 0; place < tokens_.size(); ++place) {
      const std::uint64_t sample = first + place / kColumns;
      const auto token = static_cast<std::int32_t>(
          (sample * 31 + place % kColumns * 5 + sample * sample % 11) % test::kToyVocabulary);
      tokens_[place] = token;
      targets_[place] = (token * 3 + 1) % test::kToyVocabulary;
    }
    return {tokens_.data(), targets_.data(), kRows, kColumns};
  }

 private:
  std::vector<std::int32_t> tokens_ = std::vector<std::int32_t>(kRows * kColumns),
                            targets_ = tokens_;
};

struct Figures final : TrainingLog {
  void step(const StepFigures& figures) override {
    losses[figures.step] = figures.loss;
    norms[figures.step] = figures.gradient_norm;
  }
  std::map<std::uint64_t, double> losses, norms;
};

struct RunResult {
  std::map<std::uint64_t, double> losses, norms;
  std::map<std::string, std::vector<float>> weights;  // of all ranks
  std::map<std::string, int> passes;                  // backward, by first parameter
  std::vector<nlohmann::ordered_json> told;
  planner::Cuts cuts;
};

struct RunOptions {
  int ranks = 1;
  bool tied = false;
  PipelineOptions pipeline;
  std::uint64_t steps = 6;
  std::string out, resume;
  Pruning pruning = {};
};

class PipelineTrainerTest : public testing::Test {
 protected:
  static TrainerOptions trainer_options(const RunOptions& options) {
    TrainerOptions trainer;
    trainer.out = options.out;
    trainer.steps = options.steps;
    trainer.batch = kRows;
    trainer.accumulate = 4;
    trainer.schedule = {0.05, 0, 6, RateDecay::kConstant, 1};
    trainer.clip = 0.2;
    trainer.pruning = options.pruning;
    trainer.save_every = 3;
    return trainer;
  }

  static PipelineParts parts_of(const RunOptions& options, ToySamples& samples, Figures& figures,
                                RunResult& run) {
    PipelineParts parts;
    parts.parameters = test::toy_parameters(kBlocks, options.tied);
    parts.num_blocks = kBlocks;
    parts.width = test::kToyWidth;
    parts.losses_of_sample = kColumns;
    parts.make = test::make_toy;
    parts.fill = [specs = parts.parameters](const auto& wanted) {
      ParameterSet whole(specs);
      whole.draw(11);
      for (const auto& [number, values] : wanted) {
        std::ranges::copy(whole.values(number), values.begin());
      }
    };
    parts.batch = [&samples](std::uint64_t first) { return samples.at(first); };
    parts.open_logs = [&figures](std::uint64_t) { return std::vector<TrainingLog*>{&figures}; };
    parts.tell = [&run](const nlohmann::ordered_json& line) { run.told.push_back(line); };
    return parts;
  }

  static void keep(PipelineTrainer& trainer, RunResult& run) {
    for (const auto& [number, layer] : trainer.layers()) {
      ParameterSet& parameters = layer->parameters();
      for (std::size_t at = 0; at < layer->spec().numbers.size(); ++at) {
        const auto values = parameters.values(at);
        run.weights[parameters.spec(at).name].assign(values.begin(), values.end());
      }
      run.passes[parameters.spec(0).name] =
          dynamic_cast<test::ToyLayer&>(layer->passes()).backward_passes;
    }
    run.cuts = trainer.plan().cuts;
  }

  static RunResult run(const RunOptions& options) {
    RunResult run;
    std::mutex mutex;
    const auto rank = [&](collectives::Group* group) {
      ToySamples samples;
      Figures figures;
      PipelineTrainer trainer(trainer_options(options), options.pipeline,
                              parts_of(options, samples, figures, run));
      if (!options.resume.empty()) trainer.resume(find_checkpoint(options.resume));
      trainer.run(group);
      const std::lock_guard lock(mutex);
      keep(trainer, run);
      if (group != nullptr && group->rank() > 0) return;
      run.losses = figures.losses;
      run.norms = figures.norms;
    };
    if (options.ranks == 1) {
      rank(nullptr);
      return run;
    }
    test::run_ranks(options.ranks, [&](std::unique_ptr<transport::Transport> transport) {
      collectives::Group group(std::move(transport));
      rank(&group);
    });
    return run;
  }

  static void expect_same(const RunResult& expected, const RunResult& found) {
    EXPECT_EQ(found.losses, expected.losses);
    EXPECT_EQ(found.norms, expected.norms);
    EXPECT_EQ(found.weights, expected.weights);
  }

  test::ScratchPath folder_{"pipeline"};
};

TEST_F(PipelineTrainerTest, ARunLearns) {
  const RunResult one = run({.steps = 40});
  EXPECT_LT(one.losses.at(40), 0.6 * one.losses.at(1));
}

TEST_F(PipelineTrainerTest, EveryScheduleHasTheBitsOfOneRank) {
  for (const bool tied : {false, true}) {
    const RunResult one = run({.tied = tied});
    for (const PassOrder order : {PassOrder::kGpipe, PassOrder::kOneForward,
                                  PassOrder::kInterleaved, PassOrder::kZeroBubble}) {
      for (const int ranks : {1, 2, 4}) {
        if (order == PassOrder::kInterleaved && ranks == 4) continue;  // 7 layers, 2 stages each
        RunOptions options{.ranks = ranks, .tied = tied};
        options.pipeline.order = order;
        options.pipeline.chunks = order == PassOrder::kInterleaved ? 2 : 1;
        SCOPED_TRACE(testing::Message() << static_cast<int>(order) << " over " << ranks);
        expect_same(one, run(options));
      }
    }
  }
}

// Cuts of three stages that visit all shapes.
std::optional<NewStages> restless(std::uint64_t step, const RebalanceQuestion& question) {
  const std::vector<planner::Cuts> all = {{1, 2}, {3, 6}, {5, 6}, {2, 4}, {1, 6}};
  NewStages found;
  found.cuts = all[step % all.size()];
  EXPECT_EQ(question.layers.size(), 7u);
  for (const LayerProfile& layer : question.layers) {
    EXPECT_GT(layer.seconds.forward, 0);
    EXPECT_GT(layer.bytes, 0u);
  }
  return found;
}

TEST_F(PipelineTrainerTest, LayersThatMoveAfterEveryStepChangeNoBit) {
  for (const bool tied : {false, true}) {
    for (const PassOrder order : {PassOrder::kOneForward, PassOrder::kZeroBubble}) {
      RunOptions options{.ranks = 3, .tied = tied};
      options.pipeline.order = order;
      options.pipeline.rebalance_every = 1;
      options.pipeline.choose = restless;
      const RunResult moved = run(options);
      expect_same(run({.tied = tied}), moved);
      EXPECT_EQ(moved.cuts, planner::Cuts({1, 2}));  // of the last move, after step 5
      ASSERT_EQ(moved.told.size(), 6u);              // five moves, and the profile
      EXPECT_EQ(moved.told[0].at("rebalanced_after_step"), 1);
      EXPECT_EQ(moved.told[0].at("cuts"), nlohmann::ordered_json({3, 6}));
      EXPECT_GT(moved.told[0].at("migrated_bytes"), 0);
      EXPECT_EQ(moved.told[5].at("pipeline").at("migrations"), 5);
    }
  }
}

TEST_F(PipelineTrainerTest, FrozenLayersStayAndCostNoBackwardPass) {
  for (const bool tied : {false, true}) {
    RunOptions options{.tied = tied};
    options.pipeline.freeze = 0.05;
    const RunResult one = run(options), all = run({.tied = tied});
    // By the cubic schedule 0, 3, 4, 5, 6 and 6 of 7 layers are frozen in the six steps.
    EXPECT_EQ(one.passes.at("blk.0.scale.weight"), 4);
    EXPECT_EQ(one.passes.at("blk.4.scale.weight"), 4 * 4);
    EXPECT_EQ(one.passes.at("output_norm.weight"), 6 * 4);
    EXPECT_NE(one.weights.at("blk.0.scale.weight"), all.weights.at("blk.0.scale.weight"));
    for (const int ranks : {2, 4}) {
      options.ranks = ranks;
      expect_same(one, run(options));
    }
    options.ranks = 3;
    options.pipeline.rebalance_every = 1;
    options.pipeline.choose = restless;
    expect_same(one, run(options));
  }
}

TEST(FrozenLayers, FollowTheCubicScheduleAndNeverReachTheOutput) {
  EXPECT_EQ(frozen_layers(0, 7, 5, 6), 0);
  EXPECT_EQ(frozen_layers(0.125, 4, 12, 100), 0);
  EXPECT_EQ(frozen_layers(0.125, 4, 13, 100), 1);  // (1/2)^3 of the run is over
  EXPECT_EQ(frozen_layers(0.125, 4, 25, 100), 2);  // (5/8)^3 = 0.244
  EXPECT_EQ(frozen_layers(0.125, 4, 99, 100), 3);
  EXPECT_EQ(frozen_layers(0.001, 2, 99, 100), 1);
}

TEST_F(PipelineTrainerTest, PrunedWeightsStayZeroWhereverTheirLayersMove) {
  RunOptions options;
  options.pruning = {0.75, 0, 0.6, 1};
  const RunResult one = run(options), whole = run({});
  EXPECT_NE(one.losses.at(6), whole.losses.at(6));
  for (const auto& [name, values] : one.weights) {
    const auto zeros = std::ranges::count(values, 0.0f);
    const auto expected = name.starts_with("blk.") ? static_cast<int>(values.size()) * 3 / 4 : 0;
    EXPECT_EQ(zeros, expected) << name;
  }
  options.ranks = 3;
  options.pipeline.rebalance_every = 1;
  options.pipeline.choose = restless;
  expect_same(one, run(options));
}

TEST_F(PipelineTrainerTest, APrunedRunResumesWithItsZeros) {
  RunOptions options{.ranks = 2, .out = folder_.string()};
  options.pruning = {0.75, 0, 0.6, 1};
  const RunResult whole = run(options);
  RunOptions second{.ranks = 3, .resume = folder_.string() + "/step-00000003"};
  second.pruning = options.pruning;
  EXPECT_EQ(run(second).weights, whole.weights);
}

TEST_F(PipelineTrainerTest, ACheckpointOfThreeRanksGoesOnWithTwo) {
  const RunResult whole = run({.ranks = 2, .tied = true});
  RunOptions first{.ranks = 3, .tied = true};
  first.steps = 3;
  first.out = folder_.string();
  run(first);
  RunOptions second{.ranks = 2, .tied = true};
  second.resume = folder_.string();
  const RunResult resumed = run(second);
  EXPECT_EQ(resumed.weights, whole.weights);
  EXPECT_EQ(resumed.losses.begin()->first, 4u);
  for (const auto& [step, loss] : resumed.losses) EXPECT_EQ(loss, whole.losses.at(step));
}

// Batches of a score: begun by the embedding, ended by the output, which is slow.
struct Progress {
  std::atomic<int> begun{0}, ended{0}, most_ahead{0};
};

class WatchedLayer final : public test::ToyLayer {
 public:
  WatchedLayer(const LayerSpec& layer, ParameterSet& parameters, Progress& progress)
      : ToyLayer(layer.part, parameters), part_(layer.part), progress_(progress) {}

  double forward(const LayerPass& pass, const TokenBatch& batch, const float* x,
                 float* y) override {
    if (part_ == DecoderPart::kEmbedding && !pass.keep) {
      const int ahead = ++progress_.begun - progress_.ended;
      progress_.most_ahead = std::max(progress_.most_ahead.load(), ahead);
    }
    return ToyLayer::forward(pass, batch, x, y);
  }
  void losses(const TokenBatch& batch, const float*, float* losses) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::fill_n(losses, batch.rows * batch.columns, 0.5f);
    ++progress_.ended;
  }

 private:
  const DecoderPart part_;
  Progress& progress_;
};

TEST_F(PipelineTrainerTest, AScoreDoesNotRunFarAheadOfASlowStage) {
  constexpr int kBatches = 100;
  Progress progress;
  std::atomic<double> nll{0};
  test::run_ranks(2, [&](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    const RunOptions options{.ranks = 2, .pipeline = {}, .steps = 1};
    ToySamples samples;
    Figures figures;
    RunResult result;
    PipelineParts parts = parts_of(options, samples, figures, result);
    parts.make = [&progress](const LayerSpec& layer, ParameterSet& parameters) {
      return std::make_unique<WatchedLayer>(layer, parameters, progress);
    };
    parts.score = [&samples, &nll](Computation& forward) {
      std::vector<float> losses(kRows * kColumns);
      Likelihood found;
      for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
        forward.losses(samples.at(batch), losses.data());
        found.nll = std::accumulate(losses.begin(), losses.end(), found.nll);
        found.tokens += losses.size();
      }
      if (found.nll > 0) nll = found.nll;
      return found;
    };
    PipelineTrainer(trainer_options(options), options.pipeline, std::move(parts)).run(&group);
  });
  EXPECT_EQ(progress.ended, kBatches);
  EXPECT_EQ(nll, 0.5 * kBatches * kRows * kColumns);
  EXPECT_LE(progress.most_ahead, 17);
}

TEST_F(PipelineTrainerTest, WhatDoesNotFitIsSaid) {
  const auto refused = [](const RunOptions& options) -> std::string {
    try {
      run(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused({.ranks = 8}), HasSubstr("the model has 7 layers with embedding and output, "
                                               "and --pipeline asks for 8 stages"));
  RunOptions options{.ranks = 2};
  options.pipeline.cuts = {7};
  EXPECT_THAT(refused(options), HasSubstr("cut"));
  options.pipeline.cuts = {};
  options.resume = folder_.string() + "/none";
  EXPECT_NE(refused(options), "");
}

}  // namespace
}  // namespace tandem::training
