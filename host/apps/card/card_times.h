// SPDX-License-Identifier: Apache-2.0
//
// The modelled times in a report of cards: its lines of kind "run_time", for people and as JSON.
//
// Members: drivers/emulation/TIME.md. Pure but for read_card_times(). Threads: any. Errors:
// Error("card", ...) naming file and line.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::apps {

constexpr const char* kTimeKind = "run_time";

// The runs of a file from `begin_bytes` on, in order. A file that does not exist has none.
std::vector<nlohmann::ordered_json> read_card_times(const std::string& path,
                                                    std::uint64_t begin_bytes);

// A table per kernel and unit: its runs in all, then the longest run's loops and ports.
std::string times_text(const std::vector<nlohmann::ordered_json>& runs);

// Adds to a report: "runs", "modelled_us" of all, and limit, loops and ports of the longest run.
void add_times(const std::vector<nlohmann::ordered_json>& runs, nlohmann::ordered_json& report);

}  // namespace tandem::apps
