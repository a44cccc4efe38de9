// SPDX-License-Identifier: Apache-2.0
//
// What the devices of a run cost: measured once, and kept in a file of the user's cache.
//
// The file is one per model and options. A table of another machine or driver, and a file that
// cannot be read, are measured anew, with a line in the log. Errors: those of measuring. A file
// that cannot be written is a warning. Threads: one.
#pragma once

#include <functional>
#include <string>

#include "planner/cost/cost_model.h"
#include "planner/cost/cost_table_json.h"

namespace tandem::apps {

// $XDG_CACHE_HOME/tandem/costs-<hash>.json, or below $HOME/.cache; empty without either.
std::string cost_file(const planner::CostKey& key);

// The version of the driver that devices of a kind use; of those without one, the system's.
std::string driver_version(const std::string& kind);

struct MeasuredCosts {
  planner::CostTable table;
  bool is_whole = true;  // false: a device gave no answer, and the table is not kept
};

struct CostSource {
  planner::WantedCosts wanted;
  std::string file;   // empty: nothing is kept
  bool anew = false;  // whatever the file has
  std::function<MeasuredCosts()> measure;
};

planner::CostTable stored_costs(const CostSource& source);

// A table for people.
std::string costs_text(const planner::CostTable& table);

}  // namespace tandem::apps
