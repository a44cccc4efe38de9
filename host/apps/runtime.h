// SPDX-License-Identifier: Apache-2.0
//
// Runtime: model, devices and engine, made from the options that `serve`, `generate` and
// `perplexity` share. Assembly: the same without an engine, for `bench`.
//
// Only these classes turn words of the command line into objects. Errors: Error that names the
// option and its values. Ownership: a Runtime owns everything; the engine is destroyed first, the
// model last. Units from an Assembly must not outlive it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/attention_choice.h"
#include "apps/draft_choice.h"
#include "apps/idle_options.h"
#include "apps/ran_where.h"
#include "apps/runtime_options.h"
#include "device/registry.h"
#include "engine/engine.h"
#include "model/model.h"
#include "trace/metrics.h"
#include "trace/timeline.h"

namespace tandem::apps {

class Assembly {
 public:
  explicit Assembly(const RuntimeOptions& options);
  ~Assembly();  // warns if the timeline could not be written
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  const RuntimeOptions& options() const { return options_; }
  const model::Model& model() const { return *model_; }
  const std::string& model_path() const { return model_path_; }
  device::Device& compute_device() { return device(options_.compute); }
  // opens the device at the first call; later calls return the same device
  device::Device& device(const std::string& id);

  device::AttentionGeometry geometry() const;
  // With --attention auto: all devices that can attend. The engine chooses by their costs.
  std::vector<ListedDevice> attention_devices();
  // Throws Error if the device does not meet the model's attention needs.
  engine::NamedUnit make_unit(const ListedDevice& choice);
  // Opens a lost device again and makes its unit. Threads: any; the caller has destroyed the lost
  // unit.
  engine::NamedUnit remake_unit(const ListedDevice& choice);
  // The model of --draft; null if it names none.
  const DraftChoice* draft() const { return draft_.get(); }
  std::uint64_t parking_bytes();  // see EngineOptions
  // The timeline of --trace; null without the option.
  trace::Timeline* timeline() const { return timeline_.get(); }

 private:
  std::vector<std::string> named_devices() const;  // without those of --attention auto
  void require_devices();
  void accept(const model::ModelConfig& config);
  // Opens the devices.
  UsedDevices used_devices(const std::vector<ListedDevice>& attention);
  engine::NamedUnit make_unit(const ListedDevice& choice, device::Device& owner);
  device::ActivitySink activity_sink();
  int context_length() const;       // length of the longest sequence
  std::uint64_t max_pages() const;  // pages of --max-running sequences of that length
  // The bytes that the compute unit needs on its device, or on each of several devices: weights,
  // activations, logits.
  std::uint64_t compute_bytes(std::size_t num_devices) const;
  // The same of a member of --split auto, which may get all layers within its limit.
  std::uint64_t planned_bytes(const std::string& id) const;
  std::uint64_t activation_bytes() const;  // activations and logits, which every device needs
  bool names_compute(const std::string& id) const;
  std::unique_ptr<device::Device> open_computing() const;

  RuntimeOptions options_;
  std::string model_path_;
  device::DeviceOptions device_options_;
  std::unique_ptr<DraftChoice> draft_;
  std::unique_ptr<model::Model> model_;
  // the configuration of model_; null until the file is open
  const model::ModelConfig* config_ = nullptr;
  int host_units_ = 0;               // attention units in host memory
  std::uint64_t host_kv_bytes_ = 0;  // memory for KV of each of these units, or of the fallback
  std::unique_ptr<trace::Timeline> timeline_;
  // receives the activities of devices, on any thread
  std::atomic<trace::Timeline*> device_timeline_ = nullptr;
  std::mutex devices_mutex_;
  std::vector<std::unique_ptr<device::Device>> devices_;
  // the joint device of several compute devices; null: there is one
  std::unique_ptr<device::Device> group_;
};

class Runtime {
 public:
  Runtime(const RuntimeOptions& options, trace::Metrics* metrics);

  const model::Model& model() const { return parts_.model(); }
  engine::Engine& engine() { return *engine_; }
  const std::string& model_path() const { return parts_.model_path(); }
  // The costs of the devices when the engine was made.
  const planner::CostTable& costs() const { return costs_; }
  // The memory speeds of the same devices.
  const MemorySpeeds& memory_speeds() const { return speeds_; }

 private:
  engine::Fallbacks fallbacks();
  planner::CostTable costs_of(engine::StepRunner& runner, std::span<const engine::NamedUnit> units);

  Assembly parts_;
  std::unique_ptr<device::ComputeUnit> compute_;
  planner::CostTable costs_;
  MemorySpeeds speeds_;
  std::unique_ptr<engine::Engine> engine_;
};

// The path of an installed file: <prefix>/share/tandem/<name>, relative to the executable. Empty if
// the file does not exist.
std::string shared_file(const std::string& name);

}  // namespace tandem::apps
