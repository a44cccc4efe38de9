// SPDX-License-Identifier: Apache-2.0
//
// `tandem simulate-pipeline`: compares balanced stages with fixed ones while a model changes.
#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/command_words.h"
#include "apps/json_text.h"
#include "apps/planner/command.h"
#include "planner/hardware/device_sheet.h"
#include "planner/pipeline/pipeline_study.h"

namespace tandem::apps {
namespace {

using nlohmann::json;

constexpr int kMostPipelineStages = 1024, kMostPipelineLayers = 16'384;
// of the published speed-up: within this share it counts as reproduced
constexpr double kMeansReproduced = 0.15;

struct PipelineOptions {
  std::string workload, method = "exact", device = "h100-sxm", link = "400gbe";
  int stages = 8, layers = 0, micro_batches = 0;
  planner::DecoderShape shape;
  std::uint64_t seed = 1;
  bool as_json = false;
};

// 48 layers, or three per stage if that is more.
planner::DecoderShape shape_of(const PipelineOptions& options) {
  constexpr int kLayersPerStage = 3;
  planner::DecoderShape shape = options.shape;
  shape.num_layers = std::max(shape.num_layers, kLayersPerStage * options.stages);
  if (options.layers > 0) shape.num_layers = options.layers;
  return shape;
}

planner::PipelineMachine machine_for(const PipelineOptions& options) {
  constexpr int kMicroBatchesPerStage = 4, kSequences = 2;
  const planner::DeviceSheet device = planner::device_preset(options.device);
  planner::PipelineMachine machine;
  machine.num_stages = options.stages;
  machine.micro_batches =
      options.micro_batches > 0 ? options.micro_batches : kMicroBatchesPerStage * options.stages;
  machine.tokens_per_micro_batch = kSequences * options.shape.tokens;
  machine.ops_per_us = device.f16_ops_per_s * device.reached.dense_ops / 1e6;
  machine.bytes_per_us = planner::link_preset(options.link).bytes_per_s / 1e6;
  return machine;
}

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

json configuration_json(const PipelineOptions& options, const planner::DecoderShape& shape,
                        const planner::PipelineMachine& machine,
                        const planner::DynamicWorkload& workload) {
  json list = json::array();
  const auto state = [&](const std::string& choice, const std::string& source) {
    list.push_back({{"choice", choice}, {"source", source}});
  };
  state(
      fmt::format("{} layers of width {}, {} tokens", shape.num_layers, shape.width, shape.tokens),
      "arXiv 2505.14864: 24 to 48 layers of width 1024, 2K tokens; three per stage beyond");
  state(fmt::format("output layer of {} words, on the last stage", shape.vocabulary),
        "GPT-2's vocabulary");
  state(fmt::format("{} micro-batches of 2 sequences, 1F1B", machine.micro_batches),
        "published script of DynMo: 32 on 8 stages; four per stage otherwise");
  state(fmt::format("{} at {:.0f} TFLOP/s, {} between stages", options.device,
                    machine.ops_per_us / 1e6, options.link),
        "sheets of host/planner/hardware");
  for (const planner::StatedChoice& each : workload.configuration) state(each.choice, each.source);
  return list;
}

planner::DynamicWorkload workload_for(const PipelineOptions& options,
                                      const planner::DecoderShape& shape) {
  return planner::dynamic_workload(planner::workload_of(options.workload), shape, options.seed);
}

planner::PipelineStudy study_of(const PipelineOptions& options,
                                const planner::DynamicWorkload& workload) {
  return planner::study_pipeline(workload, machine_for(options),
                                 options.method == "exact" ? planner::BalanceMethod::kExact
                                                           : planner::BalanceMethod::kDiffusion);
}

// The difference to the published run, with the share of the output layer, and what the workload
// would have to save for the published speed-up.
void add_difference(json& object, const PipelineOptions& options,
                    const planner::DynamicWorkload& workload) {
  planner::DecoderShape bare = shape_of(options);
  bare.vocabulary = 0;
  const double without = study_of(options, workload_for(options, bare)).speedup();
  const double left = planner::work_left(workload), published = workload.published_speedup;
  object["speedup_without_output_layer"] = rounded(without);
  object["work_left"] = rounded(left);
  object["difference"] = fmt::format(
      "{:.2f} here, {:.2f} published: {}. Layers that could be divided at will would give {:.2f}; "
      "a model without its output layer gives {:.2f}. The workload leaves {:.2f} of the layers' "
      "operations. So, without an output layer, balance makes the slowest of stages with equally "
      "many layers at most {:.2f} times as fast; {:.2f} times needs at most {:.2f} of them",
      object["speedup"].get<double>(), published, workload.difference,
      object["ideal_speedup"].get<double>(), without, left, 1 / left, published, 1 / published);
}

json study_json(const PipelineOptions& options) {
  const planner::DecoderShape shape = shape_of(options);
  const planner::PipelineMachine machine = machine_for(options);
  const planner::DynamicWorkload workload = workload_for(options, shape);
  const planner::PipelineStudy study = study_of(options, workload);
  const double speedup = study.speedup(), published = workload.published_speedup;
  const bool is_near = std::abs(speedup - published) <= kMeansReproduced * published;
  constexpr double kPsPerSecond = 1e12;
  const auto seconds = [](double ps) { return rounded(ps / kPsPerSecond); };
  const auto over = [&](std::int64_t ps) {
    return static_cast<double>(ps) / static_cast<double>(study.dynamic_ps);
  };
  json object{
      {"workload", options.workload},
      {"num_stages", options.stages},
      {"method", options.method},
      {"speedup", rounded(speedup)},
      {"published", published},
      {"is_reproduced", is_near},
      {"ideal_speedup", rounded(study.ideal_speedup())},
      {"speedup_over_equal_layers", rounded(over(study.equal_layers_ps))},
      {"speedup_over_equal_parameters", rounded(over(study.equal_parameters_ps))},
      {"static_equal_layers_s", seconds(static_cast<double>(study.equal_layers_ps))},
      {"static_equal_parameters_s", seconds(static_cast<double>(study.equal_parameters_ps))},
      {"dynamic_s", seconds(static_cast<double>(study.dynamic_ps))},
      {"overhead_share",
       rounded(static_cast<double>(study.overhead_ps) / static_cast<double>(study.dynamic_ps))},
      {"num_phases", study.num_phases},
      {"num_migrations", study.num_migrations},
      {"moved_bytes", study.moved_bytes},
      {"configuration", configuration_json(options, shape, machine, workload)}};
  add_difference(object, options, workload);
  return object;
}

void print_study(const json& object) {
  fmt::print("{}: {} times as fast as the faster static pipeline, published {}\n",
             object["workload"].get<std::string>(), object["speedup"].dump(),
             object["published"].dump());
  fmt::print("{}\n", object["difference"].get<std::string>());
  fmt::print("static {} s by layers, {} s by parameters; balanced {} s, {} of it overhead\n",
             object["static_equal_layers_s"].dump(), object["static_equal_parameters_s"].dump(),
             object["dynamic_s"].dump(), object["overhead_share"].dump());
  for (const json& each : object["configuration"]) {
    fmt::print("- {} ({})\n", each["choice"].get<std::string>(), each["source"].get<std::string>());
  }
}

void run_simulate_pipeline(const PipelineOptions& options) {
  const json object = study_json(options);
  if (options.as_json) {
    fmt::print("{}\n", json_text(object));
  } else {
    print_study(object);
  }
}

void add_shape_options(CLI::App& command, PipelineOptions& o) {
  command.add_option("--layers", o.layers, "layers of the decoder")
      ->check(in_range(1, kMostPipelineLayers))
      ->default_str("48, or three per stage");
  command.add_option("--width", o.shape.width, "width of a layer, in values")
      ->check(in_range(1, 65'536))
      ->capture_default_str();
  command.add_option("--tokens", o.shape.tokens, "tokens of a sequence")
      ->check(in_range(1, 1'048'576))
      ->capture_default_str();
  command
      .add_option("--vocabulary", o.shape.vocabulary,
                  "words of the output layer (0: no output layer)")
      ->check(in_range(0, 1'048'576))
      ->capture_default_str();
  command.add_option("--micro-batches", o.micro_batches, "micro-batches of a step")
      ->check(in_range(1, 16'384))
      ->default_str("four per stage");
}

}  // namespace

void add_simulate_pipeline(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "simulate-pipeline", "Simulate training of a changing model on balanced and static stages");
  auto options = std::make_shared<PipelineOptions>();
  PipelineOptions& o = *options;
  command
      ->add_option("--workload", o.workload,
                   "what changes the work of the layers while the model trains")
      ->required()
      ->check(CLI::IsMember(
          {"moe", "pruning", "freezing", "sparse-attention", "early-exit", "mixture-of-depths"}));
  command->add_option("--stages", o.stages, "stages of the pipeline")
      ->check(in_range(1, kMostPipelineStages))
      ->capture_default_str();
  command
      ->add_option(
          "--method", o.method,
          "how layers are balanced again: exact: the best stages, computed anew; diffusion: moves "
          "of layers between neighbouring stages")
      ->check(CLI::IsMember({"exact", "diffusion"}))
      ->capture_default_str();
  add_shape_options(*command, o);
  command
      ->add_option(
          "--device", o.device,
          "device of every stage: a data sheet such as h100-sxm (`tandem simulate --list`)")
      ->capture_default_str();
  command
      ->add_option("--link", o.link,
                   "link between stages: a data sheet such as 400gbe (`tandem simulate --list`)")
      ->capture_default_str();
  command->add_option("--seed", o.seed, "seed of the random routing and patterns")
      ->check(count_value())
      ->capture_default_str();
  command->add_flag("--json", o.as_json, "print JSON");
  command->callback([options] { run_simulate_pipeline(*options); });
}

}  // namespace tandem::apps
