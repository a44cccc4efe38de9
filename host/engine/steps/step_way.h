// SPDX-License-Identifier: Apache-2.0
//
// StepWay: how the rows of a step reach attention units outside the compute unit's queue.
//
// The tokens are the same in every way. Threads: plain data.
#pragma once

#include <vector>

namespace tandem::engine {

struct StepWay {
  bool early_queries = false;  // units get q before k and v are projected
  bool rings = false;          // the compute unit's queue feeds them, not the engine's thread
  friend bool operator==(const StepWay&, const StepWay&) = default;
};

struct StepWays {
  std::vector<StepWay> all = {{}};  // the usual one first; one way: there is no choice
  double early_share = 0;           // part of a layer's weights that project k and v
  friend bool operator==(const StepWays&, const StepWays&) = default;
};

}  // namespace tandem::engine
