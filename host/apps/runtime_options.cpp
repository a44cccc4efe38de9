// SPDX-License-Identifier: Apache-2.0
//
// The options of a run: their words, their help, and what they mean.
#include "apps/runtime_options.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "apps/backend_options.h"
#include "apps/command_words.h"
#include "engine/speculation/prompt_lookup.h"
#include "tensor/quantize.h"

namespace tandem::apps {

engine::WeightOptions weight_options(const RuntimeOptions& options) {
  engine::WeightOptions weights;
  weights.num_threads = options.threads;
  if (options.quantize == "f32") weights.quantize = DType::kF32;
  if (options.quantize == "f8") weights.quantize = DType::kF8E4M3;
  for (const DType dtype : quantizable_types()) {
    if (dtype_name(dtype) == options.quantize) weights.quantize = dtype;
  }
  return weights;
}

Pin pin_of(const std::string& name) {
  if (name == "on") return Pin::kOn;
  return name == "off" ? Pin::kOff : Pin::kAuto;
}

engine::Placement placement_of(const std::string& name) {
  if (name == "pages") return engine::Placement::kPages;
  if (name == "interleave") return engine::Placement::kInterleave;
  return engine::Placement::kSequences;
}

engine::EarlyQuery early_query_of(const std::string& name) {
  if (name == "on") return engine::EarlyQuery::kOn;
  return name == "off" ? engine::EarlyQuery::kOff : engine::EarlyQuery::kAuto;
}

engine::EngineOptions engine_options(const RuntimeOptions& options) {
  engine::EngineOptions result;
  result.max_running = options.max_running;
  result.max_waiting = options.max_waiting;
  result.max_step_tokens = options.max_step_tokens;
  result.max_prefill_rows = options.max_prefill_rows;
  result.context_length = options.context_length;
  result.num_sub_batches = options.sub_batches;
  result.target_itl_s = options.target_itl_ms * 1e-3;
  result.follows_costs = options.attention == "auto";
  result.placement = placement_of(options.placement);
  result.prefix_cache = !options.no_prefix_cache;
  result.share_prefixes = options.share_prefixes;
  result.kv_moves = options.kv_moves;
  result.device_timeout = std::chrono::milliseconds(options.device_timeout_ms);
  result.revive_interval = std::chrono::seconds(options.revive_seconds);
  result.weights = weight_options(options);
  result.early_query = early_query_of(options.early_query);
  result.rings = options.rings.value_or(true);
  result.speculation.most_drafts = options.draft_tokens;
  if (options.draft == "lookup") {
    result.speculation.make_drafter = [] { return std::make_unique<engine::PromptLookup>(); };
  }
  return result;
}

namespace {

// "none", f32, f8 and every type that has a quantiser.
std::vector<std::string> quantize_words() {
  std::vector<std::string> words = {"none", "f32", "f8"};
  for (const DType dtype : quantizable_types()) words.emplace_back(dtype_name(dtype));
  return words;
}

void add_model_options(CLI::App& command, RuntimeOptions& o) {
  command
      .add_option("-m,--model", o.model_path,
                  "GGUF file, or directory of safetensors files as published on model hubs "
                  "(default: the demo model)")
      ->check(not_empty())
      ->group("Model");
  command
      .add_option("--context", o.context_length,
                  "longest prompt + output, in tokens (0: the model's)")
      ->check(not_negative())
      ->group("Model");
  command
      .add_option(
          "--quantize", o.quantize,
          "convert the matrices to this type while loading; none: keep those of the file. K types "
          "need "
          "rows of a multiple of 256 values, and other rows get q4_1, q5_1 or q8_0. f8 is "
          "e4m3 with a scale per output, for matrices in floats. f32 takes more memory, but "
          "products then round no activations")
      ->check(CLI::IsMember(quantize_words()))
      ->capture_default_str()
      ->group("Model");
}

void add_device_options(CLI::App& command, RuntimeOptions& o) {
  command
      .add_option("--compute", o.compute,
                  "device that computes the dense layers (see `tandem devices`), or several that "
                  "share them, "
                  "such as cuda:0,cuda:1; --attention then calls them cuda:0+cuda:1")
      ->check(not_empty())
      ->capture_default_str()
      ->group("Devices");
  command
      .add_option(
          "--split", o.split,
          "how several compute devices share a model: layers: each has some layers; tensor: each "
          "has "
          "a part of every layer; auto: planned from their measured speeds and their memories, "
          "which --compute can limit, as in cuda:0=8GiB,cpu")
      ->check(CLI::IsMember({"auto", "layers", "tensor"}))
      ->capture_default_str()
      ->group("Devices");
  command
      .add_option(
          "--attention", o.attention,
          "devices that hold keys and values (KV) and compute attention: ids such as "
          "cpu,xrt:0,xrt:1, "
          "also with shares of the sequences or pages, as in cuda=0.5,xrt:0=0.3,cpu=0.2; auto: "
          "the compute device, and cards where measurements say that they make steps faster")
      ->check(not_empty())
      ->capture_default_str()
      ->group("Devices");
  command
      .add_option("--placement", o.placement,
                  "where the KV of a sequence is: sequences: all of it on one device; pages: "
                  "spread over all "
                  "devices by their bandwidth; interleave: spread in equal shares")
      ->check(CLI::IsMember({"sequences", "pages", "interleave"}))
      ->capture_default_str()
      ->group("Devices");
  command.add_option("--threads", o.threads, "CPU threads (0: one per core)")
      ->check(CLI::Range(0, 1024))
      ->group("Devices");
  command
      .add_option(
          "--pin", o.pin,
          "bind each CPU thread to a core; auto: if the threads take all cores, else to NUMA nodes")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str()
      ->group("Devices");
  add_backend_options(command, device::backends(), o.backend);
  command
      .add_option("--device-timeout-ms", o.device_timeout_ms,
                  "milliseconds after which a device that does not answer counts as lost")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str()
      ->group("Devices");
  command
      .add_option("--revive-seconds", o.revive_seconds,
                  "seconds between attempts to use a lost attention device again (0: never)")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str()
      ->group("Devices");
}

void add_kv_options(CLI::App& command, RuntimeOptions& o) {
  command.add_option("--kv-dtype", o.kv_dtype, "type of keys and values in the cache")
      ->check(CLI::IsMember({"f16", "bf16", "i8", "f8"}))
      ->capture_default_str()
      ->group("KV cache");
  command
      .add_option(
          "--kv-memory", o.kv_bytes,
          "maximum KV memory per device, e.g. 2GiB (default: the host memory that remains after "
          "the weights and a reserve of an eighth, all memory of a card; never more than "
          "--max-running "
          "sequences of --context tokens need)")
      ->transform(size_value())
      ->group("KV cache");
  command
      .add_option("--park-memory", o.park_bytes,
                  "host memory for the KV of preempted sequences, where copying it takes less time "
                  "than computing it again (default: 512MiB where KV is behind a link, else 0)")
      ->transform(size_value())
      ->group("KV cache");
  command
      .add_flag("--no-prefix-cache", o.no_prefix_cache,
                "do not reuse KV of equal prompt beginnings")
      ->group("KV cache");
  command
      .add_flag("--kv-moves", o.kv_moves,
                "between steps move KV from devices that are full or slow to others with room")
      ->group("KV cache");
}

void add_scheduling_options(CLI::App& command, RuntimeOptions& o) {
  command
      .add_option("--max-running", o.max_running,
                  "maximum number of sequences that are decoded together")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option("--max-waiting", o.max_waiting,
                  "maximum number of requests in the queue; further ones are refused")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option(
          "--max-step-tokens", o.max_step_tokens,
          "maximum number of rows (tokens) of a step; longer prompts are computed in several steps")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option("--max-prefill-rows", o.max_prefill_rows,
                  "maximum number of rows of the oldest prompt in a step, while other sequences "
                  "want rows (0: half of --max-step-tokens)")
      ->check(CLI::Range(0, 8192))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option("--sub-batches", o.sub_batches,
                  "parts into which a step is divided: 2: attention of one part runs beside the "
                  "dense layers "
                  "of the other; 1: no division; 0: what is predicted to take less time")
      ->check(CLI::Range(0, 2))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option(
          "--early-query", o.early_query,
          "send queries to devices behind a link before keys and values are computed, so that they "
          "attend to the past meanwhile; auto: in steps where that is predicted to take less "
          "time, or, without measured costs, if computing them takes longer than one more "
          "submission")
      ->check(CLI::IsMember({"on", "off", "auto"}))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option(
          "--rings", o.rings,
          "separate threads pass rows between a GPU's stream and other devices, unless "
          "steps take less time without; off: the engine's thread does this, layer by layer")
      ->check(CLI::IsMember({"on", "off"}))
      ->default_str("on")
      ->group("Scheduling");
  command
      .add_option(
          "--draft", o.draft,
          "guess the next tokens, and let the model check them together if this is faster: a "
          "small model with the same tokenizer (FILE), or lookup: what followed the last "
          "tokens earlier in the text")
      ->group("Scheduling");
  command
      .add_option("--draft-tokens", o.draft_tokens,
                  "maximum number of guessed tokens per sequence and step")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option(
          "--trace", o.trace_file,
          "write a timeline of steps, operations, copies, device runs and waits, of 512 MiB "
          "at most, for ui.perfetto.dev")
      ->group("Scheduling");
}

}  // namespace

void add_runtime_options(CLI::App& command, RuntimeOptions& o) {
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_model_options(command, o);
  add_device_options(command, o);
  add_kv_options(command, o);
  add_scheduling_options(command, o);
}

}  // namespace tandem::apps
