// SPDX-License-Identifier: Apache-2.0
//
// The way of the rows changes from step to step: the same tokens, and each way does what it says.
#include <algorithm>
#include <filesystem>

#include "engine/executor/executor.h"
#include "host/engine/equivalence.h"
#include "support/queued_compute_unit.h"

namespace tandem::engine {
namespace {

class StepWaysChange : public Equivalence {
 protected:
  using Equivalence::Equivalence;

  // Two sequences whose pages are on both units in turn, one row each per step.
  std::vector<model::TokenId> decode(Executor& executor, const std::vector<StepWay>& ways) const {
    std::vector<std::vector<model::TokenId>> tokens = {rig_.prompt(21, 1), rig_.prompt(40, 2)};
    std::vector<std::vector<BlockPlace>> blocks(2);
    for (std::uint32_t i = 0; i < 8; ++i) {
      blocks[0].push_back({static_cast<int>(i % 2), i});
      blocks[1].push_back({static_cast<int>((i + 1) % 2), 8 + i});
    }
    std::vector<int> past(2);
    std::vector<model::TokenId> chosen;
    for (std::size_t step = 0; step < 30; ++step) {
      if (!ways.empty()) executor.choose_way(ways[step % ways.size()]);
      std::vector<RunnerItem> items;
      for (std::size_t i = 0; i < 2; ++i) {
        const auto rows = std::span(tokens[i]).subspan(static_cast<std::size_t>(past[i]));
        items.push_back({rows, blocks[i], past[i], LogitRows::kLast, static_cast<int>(i % 2)});
      }
      const auto lost = executor.run(items, [&](std::size_t i, int, std::span<const float> logits) {
        const auto best = std::ranges::max_element(logits) - logits.begin();
        chosen.push_back(static_cast<model::TokenId>(best));
        past[i] = static_cast<int>(tokens[i].size());
        tokens[i].push_back(chosen.back());
      });
      EXPECT_TRUE(lost.empty());
    }
    EXPECT_EQ(chosen.size(), 60u);
    return chosen;
  }

  // All weights of these models have one type.
  double key_value_share() const {
    const model::ModelConfig& c = rig_.model().config();
    const double q = c.q_heads * c.head_dim, kv = 2.0 * c.kv_heads * c.head_dim;
    return kv / (kv + 2 * q + 3.0 * c.ffn_width);
  }

  // On a card and on a unit without a link.
  void expect_same_in_all_ways(device::ComputeUnit& compute, std::size_t num_ways) {
    const auto with = [&](bool changes) {
      const NamedUnit card = rig_.naive_unit("card", {.num_pages = 32});
      const NamedUnit host = rig_.naive_unit("host", {.num_pages = 32, .has_link = false});
      Executor executor(rig_.model(), compute, {});
      executor.add_unit(*card.unit);
      executor.add_unit(*host.unit);
      const StepWays ways = executor.ways();
      EXPECT_EQ(ways.all.size(), num_ways);
      EXPECT_NEAR(ways.early_share, key_value_share(), 1e-9);
      return decode(executor, changes ? ways.all : std::vector<StepWay>());
    };
    EXPECT_EQ(with(true), with(false));
  }
};

TEST_F(StepWaysChange, NoTokenOfTheCpu) { expect_same_in_all_ways(rig_.compute(), 2); }

TEST_F(StepWaysChange, NoTokenOfAQueuedDeviceWithRings) {
  test::QueuedComputeUnit compute(rig_.compute(), {.signals = true});
  expect_same_in_all_ways(compute, 4);
}

TEST_F(StepWaysChange, NoTokenOfAQueuedDeviceWithoutRings) {
  test::QueuedComputeUnit compute(rig_.compute());
  expect_same_in_all_ways(compute, 2);
}

class StepWaysOfWindows : public StepWaysChange {
 protected:
  StepWaysOfWindows() : StepWaysOfWindows(saved_family("gemma3")) {}

 private:
  explicit StepWaysOfWindows(const std::string& path) : StepWaysChange(path) {
    std::filesystem::remove(path);  // the mapping keeps it
  }
};

TEST_F(StepWaysOfWindows, ChangeNoTokenWithRings) {
  test::QueuedComputeUnit compute(rig_.compute(), {.signals = true});
  expect_same_in_all_ways(compute, 4);
}

TEST_F(StepWaysChange, EachWayDoesWhatItSays) {
  test::QueuedComputeUnit compute(rig_.compute(), {.signals = true});
  const NamedUnit card = rig_.naive_unit("card", {.num_pages = 32});
  const NamedUnit other = rig_.naive_unit("other", {.num_pages = 32});
  Executor executor(rig_.model(), compute, {});
  executor.add_unit(*card.unit);
  executor.add_unit(*other.unit);
  const auto layers = static_cast<std::uint64_t>(rig_.model().config().num_layers);
  std::uint64_t launches[2][2] = {};
  for (const StepWay& way : executor.ways().all) {
    const auto posts = compute.counts().posts;
    const std::uint64_t before = card.unit->stats().launches;
    decode(executor, {way});
    EXPECT_EQ(compute.counts().posts > posts, way.rings);
    launches[way.rings][way.early_queries] = card.unit->stats().launches - before;
  }
  for (const auto& of_lane : launches) {
    EXPECT_GE(of_lane[1], of_lane[0] + 20 * layers) << "queries and what they append, apart";
  }
  EXPECT_EQ(launches[0][0], launches[1][0]);
}

TEST_F(StepWaysChange, AnOperatorWhoFixedEarlyQueriesLeavesNoChoice) {
  for (const EarlyQuery fixed : {EarlyQuery::kOn, EarlyQuery::kOff}) {
    ExecutorOptions options;
    options.early_query = fixed;
    const NamedUnit card = rig_.naive_unit("card", {.num_pages = 32});
    Executor executor(rig_.model(), rig_.compute(), options);
    EXPECT_EQ(executor.ways().all.size(), 1u);
    executor.add_unit(*card.unit);
    ASSERT_EQ(executor.ways().all.size(), 1u);
    EXPECT_EQ(executor.ways().all[0], (StepWay{fixed == EarlyQuery::kOn, false}));
  }
  const NamedUnit host = rig_.naive_unit("host", {.num_pages = 32, .has_link = false});
  Executor executor(rig_.model(), rig_.compute(), {});
  executor.add_unit(*host.unit);
  EXPECT_EQ(executor.ways().all.size(), 1u) << "there is no link";
}

}  // namespace
}  // namespace tandem::engine
