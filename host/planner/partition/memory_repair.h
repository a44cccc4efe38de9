// SPDX-License-Identifier: Apache-2.0
//
// repair_memory: moves nodes away from devices whose memory overflows.
//
// It simulates the schedule until the first overflow of any device. The node with the least
// (exchange + 1) / (bytes + 0.1) moves, as in ParDNN; bytes are those that it frees at that time,
// exchange those of its edges. It moves to the device with the most free memory. A group moves as a
// whole. Each unit moves at most twice, so the repair ends. Threads: pure. Cost: one evaluation per
// move. Source: arXiv 2008.08636, section 3.4.
#pragma once

#include "planner/graph/schedule.h"

namespace tandem::planner {

// Returns whether the placement now keeps the limit.
bool repair_memory(const OperatorGraph& graph, const DeviceLinks& links, Evaluator& evaluator,
                   Placement& placement);

}  // namespace tandem::planner
