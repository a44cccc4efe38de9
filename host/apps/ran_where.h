// SPDX-License-Identifier: Apache-2.0
//
// Reports the layers, launches, bytes and time of each device since the engine's start.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/engine.h"
#include "model/model.h"

namespace tandem::apps {

// Bytes per second that a device can read from its memory, by its id. They are the upper limit of
// the measured rates.
struct MemorySpeeds {
  std::map<std::string, double> compute, attention;  // 0 or absent: unknown
};

// A waiting or running request. `pages`: [[unit, first page, number of pages], ...].
nlohmann::json sequence_json(const engine::SequenceStatus& sequence);

// The predicted and the measured time of the last step. null before the first step, or without a
// prediction.
nlohmann::json plan_json(const engine::PlanStatus& plan);

// An array with one object per device: {"device", "role", "layers", "launches", ...}.
nlohmann::json ran_where_json(const engine::EngineStatus& status, const model::ModelConfig& config,
                              const MemorySpeeds& speeds);

// The same as a table of text.
std::string ran_where_table(const engine::EngineStatus& status, const model::ModelConfig& config);

}  // namespace tandem::apps
