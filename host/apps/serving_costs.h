// SPDX-License-Identifier: Apache-2.0
//
// Returns the costs of the devices of a run: measured once, and stored in the user's cache.
//
// There is one file per model and set of options. If the file is unreadable, or of another machine
// or driver, the costs are measured again, and the log says so. Errors: those of measuring. If the
// file cannot be written, a warning is logged. Threads: one.
#pragma once

#include <functional>
#include <string>

#include "planner/cost/cost_model.h"
#include "planner/cost/cost_table_json.h"

namespace tandem::apps {

// $XDG_CACHE_HOME/tandem/costs-<hash>.json, or below $HOME/.cache. Empty if neither is set.
std::string cost_file(const planner::CostKey& key);

// The driver version of devices of this kind; for devices without a driver, the system's version.
std::string driver_version(const std::string& kind);

struct MeasuredCosts {
  planner::CostTable table;
  bool is_whole = true;  // false: a device did not answer, and the table is not stored
};

struct CostSource {
  planner::WantedCosts wanted;
  std::string file;   // empty: do not store
  bool anew = false;  // measure even if the file is valid
  std::function<MeasuredCosts()> measure;
};

planner::CostTable stored_costs(const CostSource& source);

// The costs as a text table.
std::string costs_text(const planner::CostTable& table);

}  // namespace tandem::apps
