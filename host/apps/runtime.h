// SPDX-License-Identifier: Apache-2.0
//
// Runtime: model, devices and engine assembled from the options that `serve`, `generate` and
// `perplexity` share; Assembly: the same without an engine, for `bench`.
//
// The only place where command-line words become objects. Errors: Error naming the option and what
// it accepts. Ownership: a Runtime owns everything; members are destroyed engine first, model last.
// Units that an Assembly made must not outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/attention_choice.h"
#include "device/registry.h"
#include "engine/engine.h"
#include "model/model.h"
#include "trace/metrics.h"
#include "trace/timeline.h"

namespace CLI {
class App;
}

namespace tandem::apps {

struct RuntimeOptions {
  std::string model_path;          // empty: the demo model
  std::string attention = "auto";  // "auto", or device ids separated by commas, with shares or not
  std::string compute = "cpu";     // an id, or ids separated by commas that share the model
  std::string split = "layers";    // how they share it
  std::string kv_dtype = "f16";
  std::string quantize = "none";  // "none", or the type that matrices are quantised to on load
  std::string placement = "sequences";
  std::string pin = "auto";
  std::string kernel_image;    // empty: the attention kernel built with Tandem
  std::uint64_t kv_bytes = 0;  // per unit; 0: a quarter of host memory, all of a card's
  int threads = 0;
  int context_length = 0;
  int max_running = 64;
  int max_waiting = 512;
  int max_step_tokens = 256;
  int sub_batches = 1;
  int device_timeout_ms = 10000;
  bool no_prefix_cache = false;
  bool kv_moves = false;
  std::string early_query = "auto";
  std::string trace_file;  // empty: no timeline
};

// Adds the options to a subcommand, in groups, with their help.
void add_runtime_options(CLI::App& command, RuntimeOptions& options);

// What --quantize and --threads mean for the weights.
engine::WeightOptions weight_options(const RuntimeOptions& options);

class Assembly {
 public:
  explicit Assembly(const RuntimeOptions& options);

  const RuntimeOptions& options() const { return options_; }
  const model::Model& model() const { return *model_; }
  const std::string& model_path() const { return model_path_; }
  device::Device& compute_device() { return device(options_.compute); }
  device::Device& device(const std::string& id);  // opened once, whatever it is used for

  device::AttentionGeometry geometry() const;
  std::vector<ListedDevice> attention_devices() const;
  // Error where the device cannot attend as the model needs.
  engine::NamedUnit make_unit(const ListedDevice& choice);
  // Of --trace; none without it.
  trace::Timeline* timeline() const { return timeline_.get(); }

 private:
  int context_length() const;  // of the longest sequence
  // What the compute unit is going to take of its device: weights, activations, logits.
  std::uint64_t compute_bytes() const;

  RuntimeOptions options_;
  std::string model_path_;
  device::DeviceOptions device_options_;
  std::unique_ptr<model::Model> model_;
  std::vector<std::unique_ptr<device::Device>> devices_;
  std::unique_ptr<device::Device> group_;  // of several compute devices
  std::unique_ptr<trace::Timeline> timeline_;
};

class Runtime {
 public:
  Runtime(const RuntimeOptions& options, trace::Metrics* metrics);

  const model::Model& model() const { return parts_.model(); }
  engine::Engine& engine() { return *engine_; }
  const std::string& model_path() const { return parts_.model_path(); }

 private:
  engine::Fallbacks fallbacks();

  Assembly parts_;
  std::unique_ptr<device::ComputeUnit> compute_;
  std::unique_ptr<engine::Engine> engine_;
};

// A CLI11 validator: numbers that would wrap around below zero.
std::string refuse_negative(const std::string& text);

// Of a --pin and a --placement value.
Pin pin_of(const std::string& name);
engine::Placement placement_of(const std::string& name);
// Of an --early-query value.
engine::EarlyQuery early_query_of(const std::string& name);

// Files that come with the program: <prefix>/share/tandem/<name>, relative to the executable. Empty
// if not there.
std::string shared_file(const std::string& name);

}  // namespace tandem::apps
