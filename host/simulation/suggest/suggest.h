// SPDX-License-Identifier: Apache-2.0
//
// suggest: the cheapest number and kind of devices that serve a load within a latency target.
//
// Candidates: for every given GPU, the smallest number that holds the weights, and twice that
// number; each alone, with host memory, and with 1, 2, 4 or 8 of every card; 1 to 64 such servers,
// doubled until the target is met. Every candidate is simulated. A batch is ranked by the price of
// a token, an arriving load by the price of an hour. Threads: any. Errors: Error("simulate", ...)
// if no GPU is given, or none holds the weights.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulation/serving/simulate.h"

namespace tandem::simulation {

struct LatencyTarget {
  double first_token_s = 2, between_tokens_s = 0.1;  // at the 99th percentile
};

struct Suggestion {
  std::string devices;
  bool meets_target = false;
  double price_per_hour = 0, price_per_million_tokens = 0;
  double tokens_per_s = 0, joules_per_token = 0;
  double first_token_s = 0, between_tokens_s = 0;  // 99th percentiles
};

// `devices`: presets; GPUs compute, all others attend. The best comes first; those that miss the
// target come last. `make_load` must return the same load every time. `progress` is called for each
// candidate.
std::vector<Suggestion> suggest(const std::vector<planner::DeviceSheet>& devices,
                                const ServingOptions& options,
                                const std::function<Load()>& make_load, const LatencyTarget& target,
                                const std::function<void(const std::string&)>& progress = {});

}  // namespace tandem::simulation
