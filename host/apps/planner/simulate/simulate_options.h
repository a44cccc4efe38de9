// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem simulate`, and their conversion.
//
// Threads: values. Errors: Error naming the option's value.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "simulation/serving/serving_options.h"

namespace tandem::apps {

struct SimulateOptions {
  std::string model, devices, load, trace;
  std::string reproduce;
  bool suggest = false, map = false, design = false, list = false;
  std::uint64_t seed = 1;
  bool json = false;
  std::string svg, csv;
  std::string weights = "f16", kv_dtype = "f16";
  std::string attention = "auto", placement = "sequences", sub_batches = "auto";
  std::string early_query = "on";
  int page_tokens = 16, max_running = 256, max_step_tokens = 512;
  double host_us = 200;
  std::vector<std::string> prices;
  double target_ttft_ms = 2000, target_itl_ms = 0;
};

void add_simulate_options(CLI::App& command, SimulateOptions& options);

// Throws Error if this option is required here and has no value.
void require_option(const std::string& value, const char* option);

// `model` is the name of a preset, or a model file or folder.
planner::ModelShape shape_of(const std::string& model);

simulation::ServingOptions serving_options(const SimulateOptions& options);

// Sets the sheet's price to the one of --price, if there is one.
void set_price(const SimulateOptions& options, planner::DeviceSheet& sheet);

// The machine, with the prices of --price.
simulation::MachineSpec machine_of(const SimulateOptions& options, const std::string& devices);

}  // namespace tandem::apps
