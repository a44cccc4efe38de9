// SPDX-License-Identifier: Apache-2.0
//
// The findings of a kernel's run, as the lines of a card's report: deadlocks with their waits and
// the depths that would avoid them, reads beyond the last value, values left in streams.
//
// Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "emulation/protocol/finding.h"
#include "fpga_hls/runtime/run_findings.h"

namespace tandem::emulation {

// `deadlocked`: the run ended so. The streams that grew are then no finding of their own.
std::vector<Finding> findings_of(const hls_runtime::RunFindings& run, bool deadlocked,
                                 const std::string& kernel, const std::string& unit);

// Of a command that was ended after `deadline`, where it stood: at `waits`, or computing.
Finding late_finding(std::chrono::milliseconds deadline,
                     const std::vector<hls_runtime::StandingWait>& waits);

}  // namespace tandem::emulation
