// SPDX-License-Identifier: Apache-2.0
//
// The options that `serve`, `generate`, `perplexity` and `bench` share, and their conversion to
// options of the engine.
//
// Words are checked when the command line is parsed. Checks that need a model or a device are in
// Assembly (runtime.h). Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/thread_plan.h"
#include "device/backend_options.h"
#include "engine/engine.h"

namespace CLI {
class App;
}

namespace tandem::apps {

struct RuntimeOptions {
  std::string model_path;  // empty: the demo model
  // "auto", or device ids separated by commas, optionally with shares
  std::string attention = "auto";
  std::string compute = "cpu";   // one or more ids separated by commas; several share the model
  std::string split = "layers";  // how they share the model
  std::string kv_dtype = "f16";
  std::string quantize = "none";  // "none", or the type that matrices are quantised to on load
  std::string placement = "sequences";
  std::string pin = "auto";
  device::BackendValues backend;  // values of the options that backends declare
  // host memory for KV of preempted sequences; none: 512 MiB if a device has a link
  std::optional<std::uint64_t> park_bytes;
  std::uint64_t kv_bytes = 0;  // per unit; 0: the remaining host memory, or all memory of a card
  int threads = 0;
  int context_length = 0;
  bool clips_context = false;  // a context longer than the model's is limited instead of refused
  int max_running = 64;
  int max_waiting = 512;
  int max_step_tokens = 256;
  int max_prefill_rows = 0;  // 0: half of max_step_tokens
  int sub_batches = 0;       // 0: by predicted time, in every step
  double target_itl_ms = 0;  // 0: none
  bool measures = false;     // measures the devices even if stored costs exist
  int device_timeout_ms = 10000;
  int revive_seconds = 10;
  bool no_prefix_cache = false;
  bool share_prefixes = false;
  bool kv_moves = false;
  std::string early_query = "auto";
  std::optional<bool> rings;  // none: on
  std::string draft;          // "lookup", or the path of a model; empty: no tokens are guessed
  int draft_tokens = 8;       // limit per sequence and step
  std::string trace_file;     // empty: no timeline
};

// Adds the options to a subcommand, in groups, with their help texts.
void add_runtime_options(CLI::App& command, RuntimeOptions& options);

// The options for weights, from --quantize and --threads.
engine::WeightOptions weight_options(const RuntimeOptions& options);

// The meaning of the words of --pin and --placement.
Pin pin_of(const std::string& name);
engine::Placement placement_of(const std::string& name);
// The meaning of the word of --early-query.
engine::EarlyQuery early_query_of(const std::string& name);

// The options of an engine, for any model and devices.
engine::EngineOptions engine_options(const RuntimeOptions& options);

}  // namespace tandem::apps
