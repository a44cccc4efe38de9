// SPDX-License-Identifier: Apache-2.0
//
// Formats a result of `tandem simulate` as JSON, table, CSV and SVG.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "simulation/serving/simulate.h"

namespace tandem::apps {

struct SimulatedCase {
  std::string model, devices, load;
  std::uint64_t seed = 1;
  double target_itl_ms = 0;  // 0: none
  std::string assumed = {};  // assumptions about the load; may be empty
};

// tokens_per_s, ttft_ms, itl_ms, latency_ms (each with p50 and p99), joules_per_token, utilisation
// per device, and more.
nlohmann::json simulation_json(const SimulatedCase& of, const simulation::ServingResult& result);
std::string simulation_table(const SimulatedCase& of, const simulation::ServingResult& result);
// "field,value" lines of the same JSON. Names of nested fields are joined by a dot.
std::string csv_of(const nlohmann::json& object);
// Bars of the utilisation per device, with the latencies below.
std::string simulation_svg(const SimulatedCase& of, const simulation::ServingResult& result);

}  // namespace tandem::apps
