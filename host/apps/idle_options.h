// SPDX-License-Identifier: Apache-2.0
//
// idle_options(): the options that were given, but do nothing with the devices of this run.
//
// An option that does nothing is no error, since one configuration may serve several machines. But
// whoever gave it expects an effect, so the program warns. Pure functions; threads: any.
#pragma once

#include <string>
#include <vector>

#include "apps/runtime_options.h"

namespace tandem::apps {

// The devices that a run uses.
struct UsedDevices {
  int num_computing = 1;        // names in --compute
  bool computes_apart = false;  // the compute device has memory of its own, as a GPU
  int num_attending = 1;        // that hold KV
  int num_behind_link = 0;      // of these, with memory of their own
  int num_outside = 0;          // of these, other devices than the compute device
  bool are_all_the_cpu = true;  // of both kinds
};

// A line for each such option: "--kv-moves has no effect: ...".
std::vector<std::string> idle_options(const RuntimeOptions& options, const UsedDevices& used);

}  // namespace tandem::apps
