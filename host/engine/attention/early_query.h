// SPDX-License-Identifier: Apache-2.0
//
// Early queries: whether a unit attends to the past while the compute unit projects k and v.
//
// That takes one submission more and hides the projection, so it pays where the projection takes
// longer than a submission. Threads: any. Errors: none.
#pragma once

#include "device/attention_unit.h"
#include "engine/steps/executor_options.h"

namespace tandem::engine {

// `projection_seconds`: time to project k and v of one row; 0: unknown.
inline bool sends_early_query(EarlyQuery choice, const device::AttentionCapacity& unit,
                              double projection_seconds) {
  if (unit.link_bandwidth_bytes_per_s <= 0 || choice == EarlyQuery::kOff) return false;
  if (choice == EarlyQuery::kOn) return true;
  const double submission_seconds = unit.link_latency_us * 1e-6;
  return submission_seconds > 0 && projection_seconds > submission_seconds;
}

}  // namespace tandem::engine
