// SPDX-License-Identifier: Apache-2.0
//
// run_with_heartbeat(): runs work that may take one rank long while others wait, such as saving or
// scoring.
//
// Collective: all ranks of the group call it, each with its own part, which may be empty. The part
// runs in the calling thread. A second thread tells the other ranks every second that this rank is
// working, so a part may take any time. A rank that is silent for `timeout` is lost. When a rank is
// lost, the group can no longer exchange messages; until this rank's part ends, `at_work` is called
// every second instead. Nobody else may use the group meanwhile. Returns rank 0's text. Errors: if
// a part throws, all ranks throw the same Error("train", "rank 2: ..."); TransportError if a rank
// is lost.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "collectives/group.h"

namespace tandem::training {

struct Patience {
  std::chrono::milliseconds timeout{60'000};
  std::function<void()> at_work = {};  // called on the second thread; throws nothing; may be empty
};

// group: null for one rank.
std::string run_with_heartbeat(collectives::Group* group, const Patience& patience,
                               const std::function<std::string()>& part);

}  // namespace tandem::training
