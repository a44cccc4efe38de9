// SPDX-License-Identifier: Apache-2.0
//
// advise(): what changes of a kernel would save, largest first.
//
// Each change is tried in the model: the same run is estimated once more as if the dependence, the
// banks, the bundle or the addresses were different. Changes that save less than 2 % are left out.
// Processes that streams join are taken as if streams never filled, on both sides. Pure.
#pragma once

#include <vector>

#include "bitstreams/compiler/timing/estimate.h"

namespace tandem::timing {

// `time`: the run's estimate, with its loops, ports and streams.
std::vector<Advice> advise(const KernelModel& model, const RunCounts& counts,
                           const std::vector<TimedArgument>& arguments, const TimedCard& card,
                           const RunTime& time);

}  // namespace tandem::timing
