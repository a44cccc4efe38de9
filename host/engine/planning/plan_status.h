// SPDX-License-Identifier: Apache-2.0
//
// PlanStatus: the predicted and the measured time of the last step.
//
// Parts may overlap, so their times do not add up to the time of the step. Threads: plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/steps/step_way.h"

namespace tandem::engine {

struct PlanPart {
  std::string name;    // "dense", "own attention", "attention", "merge", "sampling", "host"
  std::string device;  // "cpu", "xrt:0"; empty for the host's own work
  double predicted_s = 0;
  std::optional<double> measured_s;  // empty: the device does not measure it
};

struct PlanStatus {
  std::string mode;  // "own attention", "shares", "two sub-batches"; empty before the first step
  int num_sub_batches = 0;
  StepWay way;  // how rows reach units elsewhere, if any has work
  int rows = 0;
  double predicted_s = 0, measured_s = 0;
  std::vector<PlanPart> parts;
  std::vector<double> shares;  // [units] of new sequences or pages; empty if shares are not used
  double target_itl_s = 0;     // 0: none
  bool target_missed = false;  // the decode rows alone are predicted to take longer
};

}  // namespace tandem::engine
