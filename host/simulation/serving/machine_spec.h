// SPDX-License-Identifier: Apache-2.0
//
// MachineSpec: the devices of a simulation, from one line of text.
//
//   l40s+4*u55c              an L40S and four cards, each at its usual link
//   2*h100-sxm/nvlink4       two GPUs that divide every matrix, over NVLink
//   h100-sxm+4*h20@400gbe    units behind another link
//   8x(l40s+4*u55c)          eight such servers; requests go to the one with the least to do
//   a100:40                  with 40 GB of memory
// Or a cost table that `tandem devices --measure --json` printed. Such a machine has unlimited
// memory, and neither power nor price.
// Threads: plain data. Errors: Error("devices", ...) with the wrong word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/cost/cost_model.h"
#include "planner/hardware/device_sheet.h"

namespace tandem::simulation {

struct UnitSpec {
  planner::DeviceSheet sheet;
  planner::LinkSheet link;
  int count = 1;
};

struct MachineSpec {
  std::string text;
  int num_servers = 1;
  planner::ComputeGroup compute;
  std::vector<UnitSpec> units;
  std::optional<planner::CostTable> measured;  // instead of sheets and links

  std::int64_t num_devices() const;  // of all servers
};

MachineSpec parse_machine(std::string_view text);

// The first device with dense layers becomes the compute device; the others attend. `name` is for
// messages.
MachineSpec measured_machine(std::string_view table, const std::string& name);

}  // namespace tandem::simulation
