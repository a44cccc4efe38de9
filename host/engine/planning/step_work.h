// SPDX-License-Identifier: Apache-2.0
//
// step_work: the work of a sequence's rows on each device, for predictions.
//
// Decode rows attend to all known tokens, on the units that hold them. Rows of a prefill chunk
// attend to the tokens before the chunk on those units, and to each other on the compute device.
// Threads: pure functions. Cost: O(units).
#pragma once

#include "engine/kv_cache/kv_cache.h"
#include "engine/scheduler/step_plan.h"
#include "planner/mode/step_time.h"

namespace tandem::engine {

// Adds the rows of `item` to `batch`. `table` has the pages of the sequence.
void add_step_work(const planner::MachineModel& machine, const StepItem& item,
                   const PageTable& table, planner::SubBatch& batch);

}  // namespace tandem::engine
