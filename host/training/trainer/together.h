// SPDX-License-Identifier: Apache-2.0
//
// together(): a part of the work that may take one rank long while others wait: saving, scoring.
//
// Collective: all ranks of the group call it, each with its own part, which may do nothing. The
// part runs in the calling thread. A thread beside it tells the other ranks every second that this
// one is at work, so a part may take any time, and a rank that says nothing for `timeout` is lost.
// Once one is lost the group cannot tell any more; until this rank's part ends, `at_work` is called
// every second instead. Meanwhile nobody else uses the group. Returns rank 0's text. Errors: where
// a part throws, all ranks throw the same Error("train", "rank 2: ..."); TransportError when a rank
// is lost.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "collectives/group.h"

namespace tandem::training {

struct Patience {
  std::chrono::milliseconds timeout{60'000};
  std::function<void()> at_work = {};  // on a thread beside; throws nothing; may be empty
};

// group: null for one rank.
std::string together(collectives::Group* group, const Patience& patience,
                     const std::function<std::string()>& part);

}  // namespace tandem::training
