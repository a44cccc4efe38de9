// SPDX-License-Identifier: Apache-2.0
//
// simulate_serving: runs a load on simulated servers in virtual time.
//
// The next event is an arrival or the end of a step. A request goes to the server with the fewest
// requests; of equal ones, to the first. Equal arguments give bitwise equal results. Threads: any;
// one run uses one. Errors: Error("simulate", ...) for what does not fit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulation/serving/load.h"
#include "simulation/serving/server.h"
#include "simulation/serving/serving_options.h"

namespace tandem::simulation {

// Means over the equal devices of all servers.
struct DeviceReport {
  std::string name;
  int count = 1;
  double utilisation = 0;       // busy time over total time, 0..1
  double link_utilisation = 0;  // the same for its link
  std::string limit;            // what limited it while busy: "memory", "arithmetic"
  double joules = 0;            // of all devices, idle time included
  double joules_above_idle = 0;
  double price_per_hour = 0;  // of all devices
};

struct ServingResult {
  ServingRecord record;
  double seconds = 0;  // from the first arrival to the last token
  std::vector<DeviceReport> devices;
  std::string limiting_device;  // the device with the highest utilisation

  double tokens_per_s() const;
  double joules_per_token() const;
  double joules_above_idle_per_token() const;
  double price_per_million_tokens() const;
};

// Called with the finished and the expected requests (0: unknown) about every 0.2 s of real time.
using SimulationProgress = std::function<void(std::uint64_t done, std::int64_t expected)>;

ServingResult simulate_serving(const MachineSpec& machine, const ServingOptions& options, Load load,
                               const SimulationProgress& progress = {});

}  // namespace tandem::simulation
