// SPDX-License-Identifier: Apache-2.0
//
// What a decision about new stages is given: the work ahead, and what migrations have cost so far.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "common/error.h"
#include "host/training/pipeline/toy_run.h"
#include "support/scratch_path.h"

namespace tandem::training {
namespace {

using test::RunOptions;
using test::RunResult;

class PipelineDecision : public test::ToyRuns {};

TEST_F(PipelineDecision, ADecisionKnowsWhichLayersWillBeFrozen) {
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<WorkAhead>> later;
  std::map<std::uint64_t, int> frozen;  // layers of the first phase
  RunOptions options{.ranks = 2};
  options.pipeline.rebalance_every = 1;
  options.pipeline.work.freeze = 0.05;  // 0, 3, 4, 5, 6 and 6 layers
  options.pipeline.choose = [&](std::uint64_t step,
                                const RebalanceQuestion& question) -> std::optional<NewStages> {
    const std::lock_guard lock(mutex);
    later[step] = question.later;
    frozen[step] = static_cast<int>(std::ranges::count_if(
        question.layers, [](const LayerProfile& layer) { return layer.seconds.backward == 0; }));
    return {};
  };
  const RunResult found = run(options);
  EXPECT_EQ(frozen[1], 4);  // new stages would hold from the third step on
  EXPECT_EQ(later[1], std::vector<WorkAhead>({{1, 5}, {2, 6}}));
  EXPECT_EQ(frozen[3], 6);
  EXPECT_TRUE(later[3].empty());
  const nlohmann::ordered_json windows = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {5, 6}};
  ASSERT_EQ(found.windows.size(), windows.size());
  for (std::size_t window = 0; window < windows.size(); ++window) {
    EXPECT_EQ(found.windows[window].at("profiled_steps"), windows[window]);
  }
}

TEST_F(PipelineDecision, TheSlowestMigrationSoFarIsExpectedAgain) {
  std::mutex mutex;
  std::map<std::uint64_t, double> rates;  // by step
  RunOptions options{.ranks = 2, .steps = 20};
  options.pipeline.rebalance_every = 1;
  options.pipeline.overlap = false;
  options.pipeline.choose = [&](std::uint64_t step, const RebalanceQuestion& question) {
    const std::lock_guard lock(mutex);
    rates[step] = question.bytes_per_second;
    NewStages found;
    found.cuts = {static_cast<int>(step % 5) + 1};
    return std::optional(found);
  };
  run(options);
  ASSERT_EQ(rates.size(), 19u);
  double last = rates[2];  // after the first migration
  EXPECT_NE(last, 1e9);
  for (std::uint64_t step = 3; step < 20; ++step) {
    EXPECT_LE(rates[step], last) << step;
    last = rates[step];
  }
}

TEST_F(PipelineDecision, FrozenLayersAreNotPrunedAnyMore) {
  RunOptions options{.steps = 20};
  options.pruning = {.share = 0.8, .begin = 0, .end = 1, .every = 1, .together = true};
  options.pipeline.work.freeze = 0.01;  // the first block after the first step
  const RunResult found = run(options);
  EXPECT_LE(std::ranges::count(found.weights.at("blk.0.scale.weight"), 0.0f), 2);  // 0.11 of 25
}

TEST_F(PipelineDecision, ARunEndsWithACheckpoint) {
  const test::ScratchPath folder("last");
  run({.steps = 4, .out = folder.string()});
  EXPECT_EQ(find_checkpoint(folder.string()).fields.at("step"), 4);
}

TEST(StageMessages, TakeAsManyMicroBatchesAsThereAreTags) {
  EXPECT_NO_THROW(StageMessages::check({PassOrder::kOneForward, 2, 1365}));
  EXPECT_THROW(StageMessages::check({PassOrder::kOneForward, 2, 1366}), Error);
  EXPECT_THROW(StageMessages::check({PassOrder::kInterleaved, 2, 684, 2}), Error);
}

}  // namespace
}  // namespace tandem::training
