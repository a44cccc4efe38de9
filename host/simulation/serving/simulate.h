// SPDX-License-Identifier: Apache-2.0
//
// simulate_serving: a load on servers that one need not own, in virtual time.
//
// The next event is an arrival or the end of a step. A request goes to the server with the fewest
// requests, the first of equal ones. Equal arguments give equal results to the last bit. Threads:
// any; one run uses one. Errors: Error("simulate", ...) for what does not fit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulation/serving/load.h"
#include "simulation/serving/server.h"
#include "simulation/serving/serving_options.h"

namespace tandem::simulation {

// The mean over equal devices of all servers.
struct DeviceReport {
  std::string name;
  int count = 1;
  double utilisation = 0;       // busy over the whole time, 0..1
  double link_utilisation = 0;  // rows on their way
  std::string limit;            // what bound it while it was busy: "memory", "arithmetic"
  double joules = 0;            // of all, idle included
  double joules_above_idle = 0;
  double price_per_hour = 0;  // of all
};

struct ServingResult {
  ServingRecord record;
  double seconds = 0;  // from the first arrival to the last token
  std::vector<DeviceReport> devices;
  std::string limiting_device;  // with the highest utilisation

  double tokens_per_s() const;
  double joules_per_token() const;
  double joules_above_idle_per_token() const;
  double price_per_million_tokens() const;
};

// Hears done and expected requests (0: unknown) about every 0.2 s of real time.
using SimulationProgress = std::function<void(std::uint64_t done, std::int64_t expected)>;

ServingResult simulate_serving(const MachineSpec& machine, const ServingOptions& options, Load load,
                               const SimulationProgress& progress = {});

}  // namespace tandem::simulation
