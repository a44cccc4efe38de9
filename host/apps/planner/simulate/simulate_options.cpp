// SPDX-License-Identifier: Apache-2.0
//
// Words of the command line to options of a simulation.
#include "apps/planner/simulate/simulate_options.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "apps/command_words.h"
#include "common/error.h"
#include "common/number.h"
#include "common/text_parts.h"
#include "model/model.h"

namespace tandem::apps {
namespace {

// The configuration is known: no weight needs to be read.
struct ShapeIsKnown {};

planner::ModelShape shape_of_file(const std::string& path) {
  planner::ModelShape shape;
  try {
    model::load_model(path, {}, [&](const model::ModelConfig& config) {
      const bool has_experts = config.experts.count > 0;
      shape = {config.name,
               config.num_layers,
               config.width,
               config.q_heads,
               config.kv_heads,
               config.head_dim,
               has_experts ? config.experts.ffn_width : config.ffn_width,
               config.vocab_size,
               config.context_length,
               config.experts.count,
               config.experts.used};
      throw ShapeIsKnown{};
    });
  } catch (const ShapeIsKnown&) {
  }
  if (shape.name.empty()) shape.name = std::filesystem::path(path).stem().string();
  return shape;
}

// Bytes per parameter; blocks of 32 or 256 values with their scales.
double weight_bytes(const std::string& type) {
  static const std::map<std::string, double> bytes = {{"f16", 2},          {"bf16", 2},
                                                      {"f8", 1},           {"q8_0", 34.0 / 32},
                                                      {"q4_0", 18.0 / 32}, {"q4_k", 144.0 / 256}};
  return bytes.at(type);
}

DType kv_type(const std::string& type) {
  static const std::map<std::string, DType> types = {
      {"f16", DType::kF16}, {"bf16", DType::kBF16}, {"i8", DType::kI8}, {"f8", DType::kF8E4M3}};
  return types.at(type);
}

void add_what(CLI::App& command, SimulateOptions& o) {
  command.add_option("--model", o.model,
                     "the model: a preset (see --list), a model file or a folder");
  command.add_option("--devices", o.devices,
                     "the devices: presets such as l40s+4*u55c, 2*h100-sxm/nvlink4+cpu:200, "
                     "8x(l40s+4*u55c@pcie4x8), or a "
                     "file of 'tandem devices --measure --json'");
  auto* load = command.add_option(
      "--load", o.load,
      "the requests: batch:N, poisson:RATE (per second) or burst:N, and behind it any of "
      ",prompt=TOKENS ,output=LEAST..MOST ,requests=N ,seconds=S ,every=S");
  command
      .add_option(
          "--trace", o.trace,
          "the requests from a CSV file: arrival (in seconds), prompt and output (in tokens)")
      ->excludes(load);
  command
      .add_option("--reproduce", o.reproduce,
                  "repeat the results of a publication with this simulator")
      ->check(CLI::IsMember({"hpu", "neo", "lamina"}));
  command.add_flag(
      "--suggest", o.suggest,
      "find the devices that serve the load at the least cost; --devices l40s,u55c names the "
      "kinds to try");
  command.add_flag(
      "--map", o.map,
      "show for which batch, context, query group and KV type the units of --devices pay");
  command.add_flag("--design", o.design,
                   "show what each part of the design gains on the load, by switching it off");
  command.add_flag("--list", o.list,
                   "list the presets of models, devices and links, with their sources");
  command.add_option("--seed", o.seed, "seed of the load")
      ->check(count_value())
      ->capture_default_str();
  command.add_flag("--json", o.json, "print JSON");
  command.add_option("--csv", o.csv, "write the result to this file as CSV");
  command.add_option("--svg", o.svg, "draw the result to this file");
}

void add_how(CLI::App& command, SimulateOptions& o) {
  command.add_option("--weights", o.weights, "type of the weights")
      ->check(CLI::IsMember({"f16", "bf16", "f8", "q8_0", "q4_0", "q4_k"}))
      ->capture_default_str();
  command.add_option("--kv-dtype", o.kv_dtype, "type of keys and values")
      ->check(CLI::IsMember({"f16", "bf16", "i8", "f8"}))
      ->capture_default_str();
  command
      .add_option(
          "--attention", o.attention,
          "where attention runs: own: on the compute device; units: on the other devices; auto: "
          "where the predicted time is less")
      ->check(CLI::IsMember({"auto", "own", "units"}))
      ->capture_default_str();
  command
      .add_option(
          "--sub-batches", o.sub_batches,
          "parts into which a step is divided; auto: what the predicted time of each step favours")
      ->check(CLI::IsMember({"auto", "1", "2"}))
      ->capture_default_str();
  command
      .add_option("--placement", o.placement,
                  "what is distributed over the units: whole sequences, or pages")
      ->check(CLI::IsMember({"sequences", "pages"}))
      ->capture_default_str();
  command.add_option("--early-query", o.early_query, "units get queries before keys and values")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
}

void add_limits(CLI::App& command, SimulateOptions& o) {
  command.add_option("--page-tokens", o.page_tokens, "tokens of a KV page")
      ->check(in_range(1, 4096))
      ->capture_default_str();
  command.add_option("--max-running", o.max_running, "sequences at once on a server")
      ->check(in_range(1, 65536))
      ->capture_default_str();
  command
      .add_option("--max-step-tokens", o.max_step_tokens,
                  "maximum number of rows (tokens) of a step")
      ->check(in_range(1, 65536))
      ->capture_default_str();
  command.add_option("--host-us", o.host_us, "microseconds that the host takes per step")
      ->check(in_range(0, 1e6))
      ->capture_default_str();
  command
      .add_option("--target-ttft-ms", o.target_ttft_ms,
                  "with --suggest: milliseconds in which 99 % of the first tokens must come")
      ->check(in_range(0.001, 1e9))
      ->capture_default_str();
  command
      .add_option("--target-itl-ms", o.target_itl_ms,
                  "p99 between tokens: chunks of prompts follow it; of --suggest, else 100")
      ->check(in_range(0.001, 1e9));
  command.add_option("--price", o.prices, "USD per hour, as in l40s=0.9; repeatable");
}

}  // namespace

void add_simulate_options(CLI::App& command, SimulateOptions& options) {
  add_what(command, options);
  add_how(command, options);
  add_limits(command, options);
}

void require_option(const std::string& value, const char* option) {
  if (value.empty()) throw Error("simulate", std::string(option) + " is missing; see --help");
}

planner::ModelShape shape_of(const std::string& model) {
  if (std::filesystem::exists(model)) return shape_of_file(model);
  return planner::model_preset(model);
}

simulation::ServingOptions serving_options(const SimulateOptions& o) {
  simulation::ServingOptions options;
  options.model = shape_of(o.model);
  options.precision = {weight_bytes(o.weights), kv_type(o.kv_dtype)};
  options.attention = o.attention == "own"     ? simulation::AttentionPolicy::kOwn
                      : o.attention == "units" ? simulation::AttentionPolicy::kUnits
                                               : simulation::AttentionPolicy::kAuto;
  options.num_sub_batches = o.sub_batches == "auto" ? 0 : std::stoi(o.sub_batches);
  options.placement =
      o.placement == "pages" ? engine::Placement::kPages : engine::Placement::kSequences;
  options.early_query = o.early_query == "on";
  options.page_tokens = o.page_tokens;
  options.max_running = o.max_running;
  options.max_step_tokens = o.max_step_tokens;
  options.host_s = 1e-6 * o.host_us;
  options.target_between_tokens_s = 1e-3 * o.target_itl_ms;
  return options;
}

void set_price(const SimulateOptions& options, planner::DeviceSheet& sheet) {
  for (const std::string& word : options.prices) {
    const auto [name, value] = cut_at(word, '=');
    const auto price = number_of<double>(value);
    if (!price || *price < 0) {
      throw Error("simulate", "--price '" + word + "': a device and USD per hour, as in l40s=0.9");
    }
    if (planner::device_preset(name).name == sheet.name) sheet.price_per_hour = *price;
  }
}

simulation::MachineSpec machine_of(const SimulateOptions& options, const std::string& devices) {
  if (std::filesystem::is_regular_file(devices)) {
    std::ifstream file(devices, std::ios::binary);
    const std::string table(std::istreambuf_iterator<char>(file), {});
    return simulation::measured_machine(table, devices);
  }
  simulation::MachineSpec machine = simulation::parse_machine(devices);
  set_price(options, machine.compute.sheet);
  for (simulation::UnitSpec& unit : machine.units) set_price(options, unit.sheet);
  return machine;
}

}  // namespace tandem::apps
