// SPDX-License-Identifier: Apache-2.0
//
// repair_memory: moves nodes away from devices that overflow.
//
// The schedule is emulated; at the first overflow of any device the node goes whose exchange is
// least for the bytes that it frees there and then: (exchange + 1) / (bytes + 0.1), as ParDNN
// orders them. It goes to the device of the most room. A group moves as one. Each unit moves at
// most twice, so the repair ends. Threads: pure. Cost: an evaluation per move. Source: arXiv
// 2008.08636, section 3.4.
#pragma once

#include "planner/graph/schedule.h"

namespace tandem::planner {

// Whether the placement keeps the limit now.
bool repair_memory(const OperatorGraph& graph, const DeviceLinks& links, Evaluator& evaluator,
                   Placement& placement);

}  // namespace tandem::planner
