// SPDX-License-Identifier: Apache-2.0
//
// Executor: runs the rows of a step through the model, dense layers on the compute unit and
// attention on the attention units.
//
// It decides nothing: which rows, whose pages and which sub-batch are given. With two sub-batches,
// one's attention is in flight while the compute unit works on the other's dense layers. Results
// appear only through the sinks, after every layer of every row is done; when a unit is lost on the
// way, run() says which and nothing has reached a sink. A DeviceError of the compute unit may come
// after some sinks were called, where there are more rows of logits than max_logit_rows. Appends of
// an interrupted step may have happened in part; running the same rows again overwrites them. A
// unit that timed out may still read or write what it was lent: those buffers are set aside for the
// executor's life. Threads: the engine's. Ownership: borrows all; units must be destroyed before
// the executor. Errors: DeviceError from the compute unit passes through: the executor must then be
// discarded, or kept unused where holds_lent().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/attention_unit.h"
#include "device/compute_unit.h"
#include "engine/steps/executor_options.h"
#include "engine/kv_cache/kv_cache.h"
#include "engine/weights/layer_weights.h"
#include "model/model.h"

namespace tandem::engine {

enum class LogitRows { kNone, kLast, kAll };

struct ExecutorItem {
  std::span<const TokenId> tokens;     // [num_rows]
  std::span<const BlockPlace> blocks;  // for past + num_rows tokens
  int past = 0;                        // tokens whose KV is in the pages
  LogitRows logits = LogitRows::kNone;
  int sub_batch = 0;
  // With kLast, where the executor samples(): the token comes instead of its logits.
  std::optional<device::SampleRow> sample = {};
};

class Executor {
 public:
  Executor(const model::Model& model, device::ComputeUnit& compute, const ExecutorOptions& options);
  ~Executor();

  const LoadedWeights& weights() const;

  // Unit numbers follow the calls: 0, 1, ... as in KvCache; a call that throws counts for none.
  // `id`: on the timeline.
  void add_unit(device::AttentionUnit& unit, const std::string& id = {});

  // Whether ExecutorItem::sample may be set.
  bool samples() const;

  // `row`: of the item. `logits` [vocab] is valid during the call.
  using LogitsSink = std::function<void(std::size_t item, int row, std::span<const float> logits)>;

  using TokenSink = std::function<void(std::size_t item, TokenId token)>;

  // Returns the units that were lost; empty when the step is complete.
  std::vector<int> run(std::span<const ExecutorItem> items, const LogitsSink& logits,
                       const TokenSink& tokens = {});

  // After a DeviceError: the units that were lost besides.
  std::vector<int> take_lost();

  // Whether a unit that timed out may still use the executor's buffers.
  bool holds_lent() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::engine
