// SPDX-License-Identifier: Apache-2.0
//
// schedule_card_times(): places the modelled runs and copies of a report on one time axis.
//
// The order is the host's real one: what had ended before something else began stays before it;
// what overlapped may overlap. A unit does one run at a time. Runs that overlap share the bandwidth
// of the banks that they use, and copies that of their direction of a card's link: all slow down
// alike until none asks for more than there is (max-min fairness). The host's own work takes no
// time. Pure. Cost: n log n, times the number of runs that overlap.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::apps {

struct ScheduledItem {
  const nlohmann::ordered_json* line = nullptr;  // of the report
  double start_us = 0, end_us = 0;
  double alone_us = 0;            // without the others
  std::string shared;             // the channel that slowed it down, if any
  std::vector<std::string> with;  // units that used it at the same time
};

// In the order of their starts. `lines`: of kinds "run_time" and "transfer_time".
std::vector<ScheduledItem> schedule_card_times(const std::vector<nlohmann::ordered_json>& lines);

}  // namespace tandem::apps
