// SPDX-License-Identifier: Apache-2.0
//
// idle_options: finds options that were given but have no effect with the devices of this run.
//
// Such an option is not an error, because one configuration may serve several machines. The program
// warns, because the user expects an effect. Pure functions; threads: any.
#pragma once

#include <string>
#include <vector>

#include "apps/runtime_options.h"

namespace tandem::apps {

// The devices that a run uses.
struct UsedDevices {
  int num_computing = 1;        // number of devices in --compute
  bool computes_apart = false;  // the compute device has its own memory, as a GPU has
  int num_attending = 1;        // devices that hold KV
  int num_behind_link = 0;      // those with their own memory
  int num_outside = 0;          // those that are not the compute device
  bool are_all_the_cpu = true;  // all computing and attending devices
};

// One line per such option: "--kv-moves has no effect: ...".
std::vector<std::string> idle_options(const RuntimeOptions& options, const UsedDevices& used);

}  // namespace tandem::apps
