// SPDX-License-Identifier: Apache-2.0
//
// Reads the modelled times from a report of emulated cards (lines of the kinds "run_time" and
// "transfer_time"), and formats them as text and JSON. Runs that share a bank take longer
// (card_schedule.h).
//
// The members of a line: drivers/emulation/TIME.md. Pure except the two that read. Threads: any.
// Errors: Error("card", ...) with file and line.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::apps {

constexpr const char* kTimeKind = "run_time";
constexpr const char* kTransferKind = "transfer_time";
constexpr const char* kWavesKind = "run_waves";  // card_waves.h

// 0 or empty if the member is missing or has another type.
double number_member(const nlohmann::ordered_json& object, const char* name);
nlohmann::ordered_json list_member(const nlohmann::ordered_json& object, const char* name);

// Returns the runs and copies of a file from `begin_bytes` on, in order. If the file does not
// exist, there are none.
std::vector<nlohmann::ordered_json> read_card_times(const std::string& path,
                                                    std::uint64_t begin_bytes);

// The lines of kind "run_waves", in the same way.
std::vector<nlohmann::ordered_json> read_card_waves(const std::string& path,
                                                    std::uint64_t begin_bytes);

// One table per kernel and unit: the sums over its runs, then the parts of the longest run; then
// the copies.
std::string times_text(const std::vector<nlohmann::ordered_json>& lines);

// Adds to a report: "runs", "modelled_us" of all runs, the limit, loops, ports, streams and advice
// of the longest run; "transfers"; and "makespan_us", from the first start to the last end.
void add_times(const std::vector<nlohmann::ordered_json>& lines, nlohmann::ordered_json& report);

}  // namespace tandem::apps
