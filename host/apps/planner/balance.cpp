// SPDX-License-Identifier: Apache-2.0
//
// `tandem balance`: contiguous stages for the layers of a trace, step after step.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/command_words.h"
#include "apps/json_text.h"
#include "apps/planner/command.h"
#include "apps/planner/planner_files.h"
#include "planner/pipeline/diffusion.h"
#include "planner/pipeline/exact_partition.h"
#include "planner/pipeline/layer_trace.h"

namespace tandem::apps {
namespace {

using nlohmann::json;

constexpr int kMostStages = 1'000'000;

struct BalanceOptions {
  std::string trace, method = "exact";
  int stages = 0;
  std::int64_t memory = planner::kNoStageLimit;
  planner::Cuts from;
  bool as_json = false;
};

struct BalancedStep {
  std::string name;
  planner::Diffusion plan;
  json object;
};

json stages_json(const planner::StageLoads& loads, const planner::Cuts& cuts) {
  json stages = json::array();
  const auto times = loads.stage_times_ps(cuts), sizes = loads.stage_bytes(cuts);
  for (int stage = 0; stage < loads.rules().num_stages; ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    stages.push_back({{"first_layer", loads.begin_of(cuts, stage)},
                      {"num_layers", loads.end_of(cuts, stage) - loads.begin_of(cuts, stage)},
                      {"time_us", us_json(times[at])},
                      {"bytes", sizes[at]}});
  }
  return stages;
}

BalancedStep balanced_step(const BalanceOptions& options, const planner::TraceStep& step,
                           const planner::Cuts* before) {
  const planner::StageLoads loads(step.layers, {options.stages, options.memory});
  const planner::Cuts start =
      before != nullptr ? *before : planner::equal_counts(loads.num_layers(), options.stages);
  loads.check(start);
  BalancedStep balanced{step.name, {}, {}};
  if (options.method == "exact") {
    balanced.plan.cuts = planner::exact_partition(loads);
  } else {
    balanced.plan = planner::diffuse(loads, start);
  }
  const planner::Cuts& cuts = balanced.plan.cuts;
  balanced.object = {{"bottleneck_us", us_json(loads.bottleneck_ps(cuts))},
                     {"cuts", cuts},
                     {"before_us", us_json(loads.bottleneck_ps(start))},
                     {"stages", stages_json(loads, cuts)}};
  if (options.method == "diffusion") {
    balanced.object["rounds"] = balanced.plan.rounds;
    balanced.object["moves"] = balanced.plan.moves;
  }
  return balanced;
}

std::vector<BalancedStep> balanced_steps(const BalanceOptions& options,
                                         const planner::LayerTrace& trace) {
  std::vector<BalancedStep> steps;
  for (const planner::TraceStep& step : trace.steps) {
    const planner::Cuts* before = !steps.empty()          ? &steps.back().plan.cuts
                                  : !options.from.empty() ? &options.from
                                                          : nullptr;
    steps.push_back(balanced_step(options, step, before));
  }
  return steps;
}

// The last step; with a list of all steps if the trace names them.
json balance_json(const BalanceOptions& options, const std::vector<BalancedStep>& steps) {
  json object = steps.back().object;
  object["method"] = options.method;
  object["num_stages"] = options.stages;
  if (!steps.back().name.empty()) {
    for (const BalancedStep& step : steps) {
      object["steps"].push_back({{"step", step.name},
                                 {"bottleneck_us", step.object["bottleneck_us"]},
                                 {"before_us", step.object["before_us"]},
                                 {"cuts", step.plan.cuts}});
    }
  }
  return object;
}

void print_balance(const std::vector<BalancedStep>& steps, const planner::LayerTrace& trace) {
  for (const BalancedStep& step : steps) {
    fmt::print("{}{}slowest stage {} us, {} us before\n", step.name.empty() ? "" : "step ",
               step.name.empty() ? "" : step.name + ": ", step.object["bottleneck_us"].dump(),
               step.object["before_us"].dump());
  }
  fmt::print("{:<8} {:<20} {:>8} {:>16} {:>16}\n", "stage", "first layer", "layers", "us", "bytes");
  int number = 0;
  for (const json& stage : steps.back().object["stages"]) {
    fmt::print("{:<8} {:<20} {:>8} {:>16} {:>16}\n", number++,
               trace.layer_names[stage["first_layer"].get<std::size_t>()],
               stage["num_layers"].dump(), stage["time_us"].dump(), stage["bytes"].dump());
  }
}

void run_balance(const BalanceOptions& options) {
  const planner::LayerTrace trace = read_named("balance", options.trace, planner::read_layer_trace);
  const std::vector<BalancedStep> steps = balanced_steps(options, trace);
  if (options.as_json) {
    fmt::print("{}\n", json_text(balance_json(options, steps)));
  } else {
    print_balance(steps, trace);
  }
}

}  // namespace

void add_balance(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("balance", "Divide the layers of a model into stages of a pipeline");
  auto options = std::make_shared<BalanceOptions>();
  command
      ->add_option("--trace", options->trace,
                   "CSV file with a line per layer: the column time_us, and optionally layer, "
                   "bytes and step")
      ->required();
  command->add_option("--stages", options->stages, "number of stages of the pipeline")
      ->required()
      ->check(in_range(1, kMostStages));
  command
      ->add_option(
          "--method", options->method,
          "exact: the best stages, computed anew; diffusion: moves of layers between neighbouring "
          "stages")
      ->check(CLI::IsMember({"exact", "diffusion"}))
      ->capture_default_str();
  command->add_option("--memory", options->memory, "memory of each stage, such as 16GiB")
      ->transform(size_value())
      ->default_str("no limit");
  command
      ->add_option(
          "--from", options->from,
          "present stages: the first layer of each but the first, such as 6,12,18 (default: equal "
          "numbers of layers)")
      ->delimiter(',');
  command->add_flag("--json", options->as_json, "print JSON");
  command->callback([options] { run_balance(*options); });
}

}  // namespace tandem::apps
