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
#include "host/training/pipeline/toy_run.h"
#include "support/scratch_path.h"

namespace tandem::training {
namespace {

using testing::HasSubstr;

using test::RunOptions;
using test::RunResult;

class PipelineTrainerTest : public test::ToyRuns {
 protected:
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
    for (const bool overlap : {true, false}) {
      RunOptions options{.ranks = 3, .tied = tied};
      options.pipeline.order = overlap ? PassOrder::kOneForward : PassOrder::kZeroBubble;
      options.pipeline.overlap = overlap;
      options.pipeline.rebalance_every = 1;
      options.pipeline.choose = restless;
      const RunResult moved = run(options);
      expect_same(run({.tied = tied}), moved);
      EXPECT_EQ(moved.cuts, planner::Cuts({1, 2}));  // of the last move, after step 5
      // A new plan needs a step to come into force, and times of another one.
      const std::size_t moves = overlap ? 3 : 5;
      ASSERT_EQ(moved.told.size(), moves + 1);  // and the profile
      EXPECT_EQ(moved.told[0].at("rebalanced_after_step"), 1);
      EXPECT_EQ(moved.told[0].at("cuts"), nlohmann::ordered_json({3, 6}));
      EXPECT_GT(moved.told[0].at("migrated_bytes"), 0);
      EXPECT_EQ(moved.told.back().at("pipeline").at("migrations"), moves);
    }
  }
}

// Of three ranks: all, one, two, all, two.
std::optional<NewStages> repacking(std::uint64_t step, const RebalanceQuestion& question) {
  const std::vector<planner::Cuts> all = {{2}, {}, {3}, {1, 4}, {5}};
  NewStages found;
  found.cuts = all[step % all.size()];
  found.ranks = static_cast<int>(found.cuts.size()) + 1;
  EXPECT_EQ(question.most_ranks, 3);
  EXPECT_EQ(question.repack, 0.5);
  return found;
}

TEST_F(PipelineTrainerTest, RanksThatAreFreedAndTakenBackChangeNoBit) {
  for (const bool tied : {false, true}) {
    RunOptions options{.ranks = 3, .tied = tied, .out = folder_.string()};
    options.pipeline.rebalance_every = 1;
    options.pipeline.overlap = false;
    options.pipeline.repack = 0.5;
    options.pipeline.choose = repacking;
    const RunResult moved = run(options);
    expect_same(run({.tied = tied}), moved);
    ASSERT_EQ(moved.told.size(), 6u);
    EXPECT_EQ(moved.told[0].at("freed_ranks"), nlohmann::ordered_json({1, 2}));
    EXPECT_EQ(moved.told[1].at("freed_ranks"), nlohmann::ordered_json({2}));
    EXPECT_EQ(moved.told[2].at("freed_ranks"), nlohmann::ordered_json::array());
  }
}

TEST_F(PipelineTrainerTest, AWindowTellsWhatItsLayersWouldTakeElsewhere) {
  RunOptions options{.ranks = 3};
  options.pipeline.rebalance_every = 2;
  options.pipeline.cuts = {1, 2};
  options.pipeline.work.drifts = true;
  options.pipeline.choose = [](auto step, const auto&) -> std::optional<NewStages> {
    if (step != 2) return {};
    return NewStages{{2, 4}};
  };
  const RunResult found = run(options);
  ASSERT_EQ(found.windows.size(), 3u);
  const nlohmann::ordered_json steps = {{1, 2}, {4, 4}, {5, 6}};  // in step 3 layers move
  for (std::size_t window = 0; window < 3; ++window) {
    const auto& line = found.windows[window];
    EXPECT_EQ(line.at("profiled_steps"), steps[window]);
    EXPECT_EQ(line.at("layers_us").size(), 7u);
    const std::vector<double> layers = line.at("layers_us");
    double last_stage = 0;
    for (std::size_t layer = 2; layer < 7; ++layer) last_stage += layers[layer];
    const double most = std::max({layers[0], layers[1], last_stage});
    EXPECT_NEAR(line.at("first").at("bottleneck_us"), most, 1e-6 * most);
    EXPECT_LE(line.at("best").at("bottleneck_us"), line.at("present").at("bottleneck_us"));
    EXPECT_LE(line.at("best").at("bottleneck_us"), line.at("first").at("bottleneck_us"));
    EXPECT_GT(line.at("present").at("step_us"), 0);
  }
  EXPECT_EQ(found.windows[0].at("first"), found.windows[0].at("present"));
  EXPECT_EQ(found.windows[2].at("cuts"), nlohmann::ordered_json({2, 4}));
}

TEST_F(PipelineTrainerTest, AWindowHasTheStepsSinceTheLastLookWhereWorkFollowsACurve) {
  for (const bool is_skew : {false, true}) {
    RunOptions options{.ranks = 2};
    options.pipeline.rebalance_every = 2;
    if (is_skew) options.pipeline.work.skew = 1;
    options.pipeline.choose = [](auto, const auto&) -> std::optional<NewStages> { return {}; };
    const RunResult found = run(options);
    ASSERT_EQ(found.windows.size(), 3u);
    for (int window = 0; window < 3; ++window) {
      const int begin = is_skew ? 2 * window + 1 : 1;  // times of the same work add up
      EXPECT_EQ(found.windows[static_cast<std::size_t>(window)].at("profiled_steps"),
                nlohmann::ordered_json({begin, 2 * window + 2}));
    }
  }
}

TEST_F(PipelineTrainerTest, TimesOfTheFirstStepsDoNotCount) {
  RunOptions options{.ranks = 2};
  options.pipeline.rebalance_every = 1;
  options.pipeline.warm_up = 2;
  options.pipeline.choose = [](auto, const auto&) -> std::optional<NewStages> { return {}; };
  const RunResult found = run(options);
  ASSERT_EQ(found.windows.size(), 4u);
  EXPECT_EQ(found.windows[0].at("profiled_steps"), nlohmann::ordered_json({3, 3}));
  EXPECT_EQ(found.windows[3].at("profiled_steps"), nlohmann::ordered_json({3, 6}));
}

TEST_F(PipelineTrainerTest, AStepInWhichLayersMoveGainsNothing) {
  for (const bool overlap : {true, false}) {
    std::mutex mutex;
    std::map<std::uint64_t, std::uint64_t> steps;  // that new stages would be in force, by step
    RunOptions options{.ranks = 2};
    options.pipeline.rebalance_every = 1;
    options.pipeline.overlap = overlap;
    options.pipeline.choose = [&](std::uint64_t step,
                                  const RebalanceQuestion& question) -> std::optional<NewStages> {
      const std::lock_guard lock(mutex);
      steps[step] = question.steps;
      return {};
    };
    run(options);
    ASSERT_EQ(steps.size(), 5u);
    for (const auto& [step, left] : steps) EXPECT_EQ(left, 6 - step - (overlap ? 1 : 0)) << step;
  }
}

TEST_F(PipelineTrainerTest, FrozenLayersStayAndCostNoBackwardPass) {
  for (const bool tied : {false, true}) {
    RunOptions options{.tied = tied};
    options.pipeline.work.freeze = 0.05;
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

// As the output's matrix it has the output's gradient, and learns.
TEST_F(PipelineTrainerTest, AFrozenEmbeddingLearnsAsTheOutput) {
  RunOptions options{.tied = true, .steps = 2};
  options.pipeline.work.freeze = 0.45;  // in the second step the embedding alone
  test::ToySamples samples;
  test::Figures figures;
  RunResult result;
  PipelineParts parts = parts_of(options, samples, figures, result);
  std::vector<float> before;  // the second step
  PipelineTrainer* running = nullptr;
  parts.batch = [&](std::uint64_t first) {
    if (first == 8 && running->steps_done() == 1) {
      const auto values = running->layers().at(0)->parameters().values(0);
      before.assign(values.begin(), values.end());
    }
    return samples.at(first);
  };
  PipelineTrainer trainer(trainer_options(options), options.pipeline, std::move(parts));
  running = &trainer;
  trainer.run(nullptr);
  ParameterSet& embedding = trainer.layers().at(0)->parameters();
  EXPECT_TRUE(std::ranges::any_of(embedding.gradient(0), [](float value) { return value != 0; }));
  ASSERT_EQ(before.size(), embedding.values(0).size());
  EXPECT_FALSE(std::ranges::equal(embedding.values(0), before));
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

TEST_F(PipelineTrainerTest, WeightsOfAllLayersThatArePrunedTogetherAreTheSameOnAnyRanks) {
  RunOptions options{.steps = 20};
  options.pruning = {.share = 0.8, .begin = 0, .end = 1, .every = 1, .together = true};
  const RunResult one = run(options);
  std::vector<std::ptrdiff_t> zeros;
  for (const auto& [name, values] : one.weights) {
    if (name.starts_with("blk.")) zeros.push_back(std::ranges::count(values, 0.0f));
  }
  EXPECT_EQ(std::accumulate(zeros.begin(), zeros.end(), std::ptrdiff_t{0}), 20);  // of 25
  EXPECT_LT(std::ranges::min(zeros), std::ranges::max(zeros));
  for (const bool overlap : {true, false}) {
    options.ranks = 3;
    options.pipeline.rebalance_every = 1;
    options.pipeline.overlap = overlap;
    options.pipeline.choose = restless;
    expect_same(one, run(options));
  }
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
    test::ToySamples samples;
    test::Figures figures;
    RunResult result;
    PipelineParts parts = parts_of(options, samples, figures, result);
    parts.make = [&progress](const LayerSpec& layer, ParameterSet& parameters) {
      return std::make_unique<WatchedLayer>(layer, parameters, progress);
    };
    parts.score = [&samples, &nll](Computation& forward) {
      std::vector<float> losses(test::kToyRows * test::kToyColumns);
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
  EXPECT_EQ(nll, 0.5 * kBatches * test::kToyRows * test::kToyColumns);
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
