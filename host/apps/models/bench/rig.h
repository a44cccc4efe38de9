// SPDX-License-Identifier: Apache-2.0
//
// Rig: a model on its devices without scheduler or sampler. It repeats a step of any batch and
// context.
//
// prepare() gives every sequence of a row its own pages and fills them with random keys and values,
// without a prefill. A decode step then writes its token at the last place of the context and
// attends to all of it, so every step does the same work. Prefill steps are real. Threads: one.
// Errors: Error as for the options; DeviceError when a device is lost or its results are wrong;
// then the rig must be discarded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/models/bench/roofline.h"
#include "apps/models/bench/rows.h"
#include "apps/runtime.h"
#include "engine/executor/executor.h"
#include "engine/kv_cache/kv_cache.h"

namespace tandem::apps::bench {

// The devices that --attention names. With auto: the compute device's own memory.
std::vector<ListedDevice> measured_devices(Assembly& parts);

struct LoadTime {
  double open_seconds = 0;     // time to open, check and read the file
  double weights_seconds = 0;  // time to copy the weights to the compute unit
};

class Rig {
 public:
  explicit Rig(Assembly& parts);

  // Loads the model a second time, then releases this copy.
  LoadTime load_again();

  // Checks that a prompt gives the same tokens if it is computed as a whole, in chunks, and
  // together with other prompts. Throws DeviceError if not.
  void verify();

  // Returns why the row cannot run; empty if it can.
  std::string refusal(const Row& row) const;
  void prepare(const Row& row);
  double step();  // runs a step of the prepared row; returns its seconds

  // The speeds of the devices at this moment.
  Speeds speeds_now();

  double kv_bytes_per_token() const;
  const engine::LoadedWeights& weights() const { return executor_->weights(); }
  std::optional<DType> quantized_to() const;  // the type that --quantize requests, if any

 private:
  struct Sequence {
    engine::PageTable table;
    std::vector<model::TokenId> tokens;
  };

  engine::ExecutorOptions executor_options() const;
  void make_sequences(int count, int num_tokens);
  void release_sequences();
  void fill_pages();
  void fill_pages(int unit, std::span<const device::PageId> pages);
  void run(std::span<const engine::RunnerItem> items, std::vector<model::TokenId>* best);
  void prefill(Sequence& sequence, int chunk, std::vector<model::TokenId>* best);
  std::vector<model::TokenId> continuation(int chunk, int num_mates);
  model::TokenId random_token();

  Assembly& parts_;
  device::AttentionGeometry geometry_;
  std::unique_ptr<device::ComputeUnit> compute_;
  std::unique_ptr<engine::Executor> executor_;
  std::vector<engine::NamedUnit> units_;
  std::unique_ptr<engine::KvCache> cache_;
  std::uint64_t random_state_ = 1;

  Row row_;
  std::vector<Sequence> sequences_;
  std::vector<engine::RunnerItem> items_;  // the items of a decode step
};

}  // namespace tandem::apps::bench
