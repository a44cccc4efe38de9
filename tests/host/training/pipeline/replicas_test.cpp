// SPDX-License-Identifier: Apache-2.0
//
// Replicas of a pipeline: their gradients are summed, densely or by a sparsifier whose residuals
// move with the layers.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "host/training/pipeline/toy_run.h"
#include "support/scratch_path.h"

namespace tandem::training {
namespace {

using test::RunOptions;
using test::RunResult;

class Replicas : public test::ToyRuns {
 protected:
  // Two pipelines of two ranks; a step has the samples of a run on one rank.
  static RunOptions two_by_two(const std::string& sparsifier, double density) {
    RunOptions options{.ranks = 4};
    options.pipeline.replicas = 2;
    options.accumulate = 2;
    options.reduce.choice = {sparsifier, density};
    options.reduce.dense_below = 1;
    options.reduce.warmup_steps = 0;
    return options;
  }
};

void expect_near(const RunResult& expected, const RunResult& found) {
  for (const auto& [step, loss] : expected.losses) EXPECT_NEAR(found.losses.at(step), loss, 1e-5);
  ASSERT_EQ(found.weights.size(), expected.weights.size());
  for (const auto& [name, values] : expected.weights) {
    for (std::size_t at = 0; at < values.size(); ++at) {
      EXPECT_NEAR(found.weights.at(name)[at], values[at], 1e-5) << name;
    }
  }
}

TEST_F(Replicas, SumGradientsToThoseOfOneRankWithAllSamples) {
  for (const bool tied : {false, true}) {
    RunOptions options = two_by_two("dense", 1);
    options.tied = tied;
    expect_near(run({.tied = tied}), run(options));
  }
}

TEST_F(Replicas, OfOneRankEachAreAReductionWithoutAPipeline) {
  RunOptions options = two_by_two("dense", 1);
  options.pipeline.replicas = 4;
  options.accumulate = 1;
  expect_near(run({}), run(options));
}

TEST_F(Replicas, AFrozenLayerIsNotSummed) {
  RunOptions options = two_by_two("dense", 1), one;
  options.pipeline.work.freeze = one.pipeline.work.freeze = 0.05;
  expect_near(run(one), run(options));
  options.pipeline.replicas = 4;  // of one rank: all that it sends is for sums
  options.accumulate = 1;
  const RunResult found = run(options);
  EXPECT_LT(found.bytes_sent.at(6), found.bytes_sent.at(2));  // 6 and 3 of 7 layers are frozen
}

std::optional<NewStages> turning(std::uint64_t step, const RebalanceQuestion&) {
  NewStages found;
  found.cuts = {static_cast<int>(step * 3 % 6) + 1};
  return found;
}

TEST_F(Replicas, SparseSumsLeaveNothingOutForGood) {
  const RunResult whole = run(two_by_two("topk", 1)), sparse = run(two_by_two("topk", 0.3));
  expect_near(run(two_by_two("dense", 1)), whole);
  EXPECT_NE(sparse.weights, whole.weights);
  RunOptions longer = two_by_two("topk", 0.3);
  longer.steps = 40;
  const RunResult learned = run(longer);
  EXPECT_LT(learned.losses.at(40), 0.7 * learned.losses.at(1));
}

TEST_F(Replicas, ResidualsMoveWithTheirLayers) {
  for (const bool overlap : {true, false}) {
    for (const char* sparsifier : {"topk", "exdyna", "dgc"}) {
      RunOptions options = two_by_two(sparsifier, 0.3);
      options.steps = 8;
      const RunResult still = run(options);
      options.pipeline.rebalance_every = 1;
      options.pipeline.overlap = overlap;
      options.pipeline.choose = turning;
      const RunResult moved = run(options);
      SCOPED_TRACE(sparsifier);
      expect_same(still, moved);
      EXPECT_EQ(moved.told.back().at("pipeline").at("migrations"), overlap ? 4 : 7);
    }
  }
}

// Also on other ranks than those that saved.
TEST_F(Replicas, AResumedRunHasTheResidualsOfTheWholeOne) {
  for (const char* sparsifier : {"topk", "exdyna", "dgc"}) {
    const test::ScratchPath folder("residuals");
    RunOptions options = two_by_two(sparsifier, 0.3);
    options.out = folder.string();
    const RunResult whole = run(options);
    const auto resumed = [&](const auto& change) {
      RunOptions second = two_by_two(sparsifier, 0.3);
      second.resume = folder.string() + "/step-00000003";
      change(second);
      return run(second);
    };
    SCOPED_TRACE(sparsifier);
    for (const int cut : {2, 5}) {
      const RunResult found = resumed([&](RunOptions& second) { second.pipeline.cuts = {cut}; });
      EXPECT_EQ(found.weights, whole.weights) << cut;
      ASSERT_EQ(found.losses.size(), 3u);
      for (const auto& [step, loss] : found.losses) EXPECT_EQ(loss, whole.losses.at(step));
    }
    // Others begin with none: four replicas of one rank, and a larger limit for dense sums.
    EXPECT_NE(resumed([](RunOptions& second) {
                second.pipeline.replicas = 4;
                second.accumulate = 1;
              }).weights,
              whole.weights);
    EXPECT_NE(resumed([](RunOptions& second) { second.reduce.dense_below = 20; }).weights,
              whole.weights);
  }
}

TEST_F(Replicas, ARunFromAnOlderCheckpointBeginsWithoutResiduals) {
  const test::ScratchPath folder("older");
  RunOptions options = two_by_two("topk", 0.3);
  options.out = folder.string();
  const RunResult whole = run(options);
  const std::string checkpoint = folder.string() + "/step-00000003";
  nlohmann::json fields = nlohmann::json::parse(std::ifstream(checkpoint + "/checkpoint.json"));
  ASSERT_EQ(fields.erase("residuals"), 1u);
  std::ofstream(checkpoint + "/checkpoint.json") << fields;
  RunOptions second = two_by_two("topk", 0.3);
  second.resume = checkpoint;
  const RunResult found = run(second);
  ASSERT_EQ(found.losses.size(), 3u);
  EXPECT_EQ(found.losses.at(4), whole.losses.at(4));
  EXPECT_NE(found.weights, whole.weights);
}

// Other decisions than the other replica's would leave a rank waiting for ever.
TEST_F(Replicas, DecideFromTheSameTimes) {
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<std::vector<double>>> seen;  // by step, of every rank
  RunOptions options = two_by_two("dense", 1);
  options.pipeline.rebalance_every = 1;
  options.pipeline.choose = [&](std::uint64_t step, const RebalanceQuestion& question) {
    std::vector<double> times = {question.bytes_per_second};
    for (const LayerProfile& layer : question.layers) {
      times.push_back(layer.seconds.forward);
      times.push_back(layer.seconds.backward);
    }
    const std::lock_guard lock(mutex);
    seen[step].push_back(times);
    return turning(step, question);
  };
  run(options);
  ASSERT_FALSE(seen.empty());
  for (const auto& [step, ranks] : seen) {
    ASSERT_EQ(ranks.size(), 4u);
    for (const auto& times : ranks) EXPECT_EQ(times, ranks[0]) << step;
  }
}

TEST_F(Replicas, WarmUpStepsAreDense) {
  RunOptions sparse = two_by_two("topk", 0.3), dense = two_by_two("dense", 1);
  sparse.reduce.warmup_steps = 6;
  expect_same(run(dense), run(sparse));
}

TEST_F(Replicas, OfUnequalSizesAreRefused) {
  RunOptions options = two_by_two("dense", 1);
  options.ranks = 3;
  EXPECT_THAT([&] { run(options); }, testing::ThrowsMessage<Error>(
                                         testing::HasSubstr("3 ranks are not 2 equal replicas")));
}

TEST(ReplicaMean, AResidualThatIsCutOffIsRefused) {
  ReduceOptions options;
  options.choice = {"topk", 0.5};
  options.dense_below = 1;
  ParameterSet parameters({{"blk.0.w.weight", {4, 5}, 1, 0}});
  ReplicaMean mean(parameters, 1, options);
  transport::ByteBuffer bytes;
  mean.append_to(bytes);
  std::span<const std::byte> whole(bytes);
  mean.restore(whole);
  EXPECT_TRUE(whole.empty());
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    std::span<const std::byte> part(bytes.data(), size);
    EXPECT_THROW(mean.restore(part), Error) << size;
  }
}

}  // namespace
}  // namespace tandem::training
