// SPDX-License-Identifier: Apache-2.0
//
// Reads the modelled times from a report of emulated cards (lines of kind "run_time"), and formats
// them as text and JSON.
//
// The members of a line: drivers/emulation/TIME.md. Pure except read_card_times(). Threads: any.
// Errors: Error("card", ...) with file and line.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::apps {

constexpr const char* kTimeKind = "run_time";

// Returns the runs of a file from `begin_bytes` on, in order. If the file does not exist, there are
// none.
std::vector<nlohmann::ordered_json> read_card_times(const std::string& path,
                                                    std::uint64_t begin_bytes);

// One table per kernel and unit: the sums over its runs, then the loops and ports of the longest
// run.
std::string times_text(const std::vector<nlohmann::ordered_json>& runs);

// Adds to a report: "runs", "modelled_us" of all runs, and the limit, loops and ports of the
// longest run.
void add_times(const std::vector<nlohmann::ordered_json>& runs, nlohmann::ordered_json& report);

}  // namespace tandem::apps
