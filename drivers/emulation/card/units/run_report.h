// SPDX-License-Identifier: Apache-2.0
//
// Converts the findings of a kernel's run into entries of a card's report: deadlocks with their
// waits and the depths that would avoid them, reads after the last value, values left in streams.
//
// Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "emulation/protocol/finding.h"
#include "fpga_hls/runtime/run_findings.h"

namespace tandem::emulation {

// `deadlocked`: the run ended by a deadlock. Then streams that grew are not separate findings.
std::vector<Finding> findings_of(const hls_runtime::RunFindings& run, bool deadlocked,
                                 const std::string& kernel, const std::string& unit);

// Values that nobody read when the program ended, in a link of `depth` (0: not stated) to the unit
// `reader`.
Finding left_in_link(const hls_runtime::LeftValues& left, uint64_t depth,
                     const std::string& reader);

// A command that was ended after `deadline`. `waits`: where its processes waited; empty: they
// computed.
Finding late_finding(std::chrono::milliseconds deadline,
                     const std::vector<hls_runtime::StandingWait>& waits);

}  // namespace tandem::emulation
