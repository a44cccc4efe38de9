// SPDX-License-Identifier: Apache-2.0
//
// card_waves(): writes the modelled runs of a report as a Value Change Dump, which GTKWave shows.
//
// A scope per card and unit: `control` (ap_start, ap_ready, ap_done, ap_idle), `registers` (the
// arguments), a scope per process (ap_start, ap_done, ap_idle, waits) and per stream (level, full,
// empty). Runs stand where the schedule of the report places them; a picosecond is the unit of
// time. Letters that viewers would read as structure become underscores in names. Of processes and
// streams of one name that live at the same time the further ones get a number. Pure. Format: IEEE
// 1364-2005, clause 18.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/card/card_schedule.h"

namespace tandem::apps {

// `items`: of the lines of kind "run_time"; `waves`: lines of kind "run_waves" of the same runs.
// Empty if no line of `waves` belongs to an item.
std::string card_waves(const std::vector<ScheduledItem>& items,
                       const std::vector<nlohmann::ordered_json>& waves);

// The name as a VCD holds it.
std::string wave_name(const std::string& name);

}  // namespace tandem::apps
