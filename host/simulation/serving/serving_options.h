// SPDX-License-Identifier: Apache-2.0
//
// ServingOptions: the policies and limits of simulated servers.
//
// Threads: plain data.
#pragma once

#include "engine/kv_cache/kv_cache.h"
#include "planner/hardware/device_sheet.h"
#include "planner/hardware/model_shape.h"
#include "planner/mode/machine_of.h"
#include "planner/mode/step_time.h"
#include "simulation/serving/machine_spec.h"

namespace tandem::simulation {

// Which units may hold KV.
enum class AttentionPolicy {
  kAuto,   // all units; shares and sub-batches by predicted time
  kOwn,    // only the memory of the compute device
  kUnits,  // only the other units, as in systems that offload all attention
};

struct ServingOptions {
  planner::ModelShape model;
  planner::Precision precision;
  AttentionPolicy attention = AttentionPolicy::kAuto;
  int num_sub_batches = 0;  // 1 or 2; 0: by predicted time, in every step
  engine::Placement placement = engine::Placement::kSequences;
  int page_tokens = 16;
  // Memory is reserved for this many tokens per running sequence, as contiguous caches do; 0: pages
  // are allocated as they fill.
  int reserved_tokens = 0;
  // Keys and values are stored once per query head: without grouped-query attention.
  bool repeats_kv = false;
  int max_running = 256;
  int max_step_tokens = 512;
  // Above 0: prompts are not divided. They join a step until it has this many prompt rows.
  int whole_prompt_rows = 0;
  double memory_share = 0.9;   // of GPU and host memory, for weights and KV
  double row_value_bytes = 4;  // bytes per value of q, k, v and O on a link
  bool early_query = true;
  double host_s = 2e-4;  // time of the host per step
  // Prompt chunks are limited so that steps end within this time; 0: only max_step_tokens limits
  // them.
  double target_between_tokens_s = 0;
  // Other machines compute the prompts: the KV exists on admission, and the first token costs one
  // decode row.
  bool prompts_elsewhere = false;
  bool jumps = true;            // skips over steps with equal plans; the result is the same
  bool keeps_requests = false;  // ServingRecord::ended
};

// A server of the machine as the planner sees it. Errors: Error("simulate", ...) if the weights or
// one page do not fit; the text names the memory and what is missing.
struct ServerModel {
  planner::MachineModel machine;
  std::vector<std::string> names;            // [units] "l40s", "u55c:1"
  std::vector<std::uint32_t> pages;          // [units]
  std::vector<planner::DeviceSheet> sheets;  // [units]
  int own_unit = -1;
};

ServerModel model_server(const MachineSpec& spec, const ServingOptions& options);
// Makes the model of a measured machine.
ServerModel model_measured_server(const MachineSpec& spec, const ServingOptions& options,
                                  const planner::ServingShape& shape);

}  // namespace tandem::simulation
