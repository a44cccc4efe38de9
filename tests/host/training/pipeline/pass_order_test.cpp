// SPDX-License-Identifier: Apache-2.0
//
// Orders of passes against what their papers say: no pass is lost, none waits for ever, and the
// time of a step is that of the formula.
#include "training/pipeline/pass_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "common/error.h"

namespace tandem::training {
namespace {

constexpr PassOrder kOrders[] = {PassOrder::kGpipe, PassOrder::kOneForward, PassOrder::kInterleaved,
                                 PassOrder::kZeroBubble};

// Forward 1, backward 2, half of it for weights.
double unit_step(const PipelineShape& shape) {
  return step_seconds(
      shape, std::vector<StageSeconds>(static_cast<std::size_t>(shape.stages()), {1, 2, 1}));
}

std::vector<PipelineShape> shapes() {
  std::vector<PipelineShape> all;
  for (const PassOrder order : kOrders) {
    for (int ranks = 1; ranks <= 6; ++ranks) {
      for (int micro_batches = 1; micro_batches <= 12; ++micro_batches) {
        for (int chunks = 1; chunks <= (order == PassOrder::kInterleaved ? 3 : 1); ++chunks) {
          if (order == PassOrder::kInterleaved && micro_batches % ranks != 0) continue;
          all.push_back({order, ranks, micro_batches, chunks});
        }
      }
    }
  }
  return all;
}

TEST(PassOrder, EveryPassIsMadeOnceAndMicroBatchesGoBackwardInTheirOrder) {
  for (const PipelineShape& shape : shapes()) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      std::map<std::pair<PassKind, int>, std::vector<int>> seen;  // micro-batches by chunk
      for (const Pass& pass : pass_order(shape, rank)) {
        seen[{pass.kind, pass.chunk}].push_back(pass.micro_batch);
      }
      std::vector<int> all(static_cast<std::size_t>(shape.micro_batches));
      for (std::size_t micro = 0; micro < all.size(); ++micro) all[micro] = static_cast<int>(micro);
      for (int chunk = 0; chunk < shape.chunks; ++chunk) {
        EXPECT_EQ((seen[{PassKind::kForward, chunk}]), all);
        EXPECT_EQ((seen[{PassKind::kBackward, chunk}]), all);
        const bool has_weights = shape.order == PassOrder::kZeroBubble;
        EXPECT_EQ((seen[{PassKind::kWeights, chunk}]), has_weights ? all : std::vector<int>());
      }
    }
  }
}

TEST(PassOrder, NoScheduleLocks) {
  for (const PipelineShape& shape : shapes()) {
    EXPECT_TRUE(std::isfinite(unit_step(shape)))
        << static_cast<int>(shape.order) << " " << shape.ranks << " " << shape.micro_batches;
  }
}

TEST(PassOrder, AStepTakesTheTimeOfThePapersFormula) {
  for (const PipelineShape& shape : shapes()) {
    const int passes = shape.micro_batches * shape.chunks, behind = shape.ranks - 1;
    if (shape.order != PassOrder::kZeroBubble) {
      EXPECT_EQ(unit_step(shape), 3 * (passes + behind));
    } else if (shape.micro_batches >= shape.ranks) {
      EXPECT_EQ(unit_step(shape), 3 * passes + behind);  // (p - 1)(F + B - W)
    }
  }
}

// Between a forward pass and the last pass that needs what it has kept.
int most_kept(const PipelineShape& shape, int rank) {
  int kept = 0, most = 0;
  for (const Pass& pass : pass_order(shape, rank)) {
    if (pass.kind == PassKind::kForward) ++kept;
    if (pass.kind == PassKind::kBackward) --kept;
    most = std::max(most, kept);
  }
  return most;
}

TEST(PassOrder, OneForwardOneBackwardKeepsAsManyMicroBatchesAsThereAreStagesBehind) {
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(most_kept({PassOrder::kGpipe, 4, 8}, rank), 8);
    EXPECT_EQ(most_kept({PassOrder::kOneForward, 4, 8}, rank), 4 - rank);
    EXPECT_EQ(most_kept({PassOrder::kZeroBubble, 4, 8}, rank), 4 - rank);
  }
}

TEST(PassOrder, TheSlowestStageDecidesUnequalStages) {
  const PipelineShape shape{PassOrder::kOneForward, 3, 10};
  // By hand: the slow stage begins after 1, waits 1 for its first gradient, then works without a
  // pause; the first stage ends 2 after it.
  EXPECT_EQ(step_seconds(shape, {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}}), 1 + 1 + 10 * 6 + 2);
}

TEST(PassOrder, WhatAScheduleDoesNotAllowIsSaid) {
  const auto refused = [](const PipelineShape& shape) -> std::string {
    try {
      check_shape(shape);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused({PassOrder::kInterleaved, 4, 6, 2}),
              testing::HasSubstr("needs a multiple of 4 micro-batches, as many as there are ranks, "
                                 "and --accumulate is 6"));
  EXPECT_THAT(refused({PassOrder::kOneForward, 4, 8, 2}), testing::HasSubstr("interleaved"));
  EXPECT_THAT(refused({PassOrder::kOneForward, 4, 0, 1}), testing::HasSubstr("at least one"));
  EXPECT_EQ(refused({PassOrder::kInterleaved, 4, 8, 2}), "");
  EXPECT_THROW(pass_order_named("2f2b"), Error);
  EXPECT_EQ(pass_order_named("zero-bubble"), PassOrder::kZeroBubble);
}

}  // namespace
}  // namespace tandem::training
