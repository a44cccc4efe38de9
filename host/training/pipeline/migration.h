// SPDX-License-Identifier: Apache-2.0
//
// migrate: moves layers to other ranks between two steps, bit by bit.
//
// Every rank computes the same moves from two plans. The old owner sends values and optimiser
// state, with a sum of them. The new owner builds the layer, checks the sum and confirms. The old
// owner keeps the layer until it has the confirmation. So when a rank is lost in the middle, each
// layer is still on at least one of the two, and `layers` of this rank holds all that it had and
// has not handed over. All transfers are on their way at once. Cost: the bytes of the layers, and
// one confirmation each. Threads: one. Errors: TransportError when a rank is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "collectives/group.h"
#include "training/pipeline/pipeline_step.h"

namespace tandem::training {

struct LayerMove {
  int layer = 0, from = 0, to = 0;  // ranks
  bool operator==(const LayerMove&) const = default;
};

// Of the layers whose rank differs, in their order.
std::vector<LayerMove> moves_between(const StagePlan& before, const StagePlan& after);

struct MigrationInput {
  const std::vector<LayerSpec>& specs;
  const LayerTools& tools;
  std::vector<LayerMove> moves;
  std::chrono::milliseconds timeout{60'000};
};

// Returns the bytes that this rank has sent and received.
std::uint64_t migrate(collectives::Group& group, const MigrationInput& input, RankLayers& layers);

}  // namespace tandem::training
