// SPDX-License-Identifier: Apache-2.0
//
// StepRunner: runs the rows of a step and reports lost units. It is the only interface between an
// engine's loop and what computes: the Executor with its devices, or a model of them in virtual
// time.
//
// The caller decides which rows, pages and sub-batches run. Threads: the engine's. Ownership:
// borrows the attention units, which must be destroyed before the runner.
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
#include "engine/kv_cache/kv_cache.h"
#include "engine/steps/step_times.h"
#include "engine/steps/step_way.h"
#include "engine/weights/weight_loader.h"

namespace tandem::engine {

enum class LogitRows { kNone, kLast, kAll };

// The rows of one sequence.
struct RunnerItem {
  std::span<const TokenId> tokens;     // [num_rows]
  std::span<const BlockPlace> blocks;  // for past + num_rows tokens
  int past = 0;                        // tokens whose KV is in the pages
  LogitRows logits = LogitRows::kNone;
  int sub_batch = 0;
  // Only with kLast, and if samples() is true: run() then returns the token, not the logits.
  std::optional<device::SampleRow> sample = {};
};

class StepRunner {
 public:
  // `row`: the index of the row in the item. `logits` [vocab] is valid during the call.
  using LogitsSink = std::function<void(std::size_t item, int row, std::span<const float> logits)>;
  using TokenSink = std::function<void(std::size_t item, TokenId token)>;

  virtual ~StepRunner() = default;

  virtual const LoadedWeights& weights() const = 0;

  // Units get numbers in the order of the calls: 0, 1, ... as in KvCache. A call that throws uses
  // no number. `id`: the name on the timeline.
  virtual void add_unit(device::AttentionUnit& unit, const std::string& id) = 0;
  // Puts `with` in the place of a lost unit, which has been destroyed. Frees the buffers that the
  // lost unit may still have used. A call that throws leaves the place lost.
  virtual void replace_unit(int unit, device::AttentionUnit& with) = 0;
  // Whether the unit works in the queue of the compute device, and so is lost with it.
  virtual bool shares_queue_with(const device::AttentionUnit& unit) const = 0;

  // Whether RunnerItem::sample may be set.
  virtual bool samples() const = 0;

  // Returns when every row is done. Results appear only through the sinks. Returns the units that
  // were lost; then no sink was called. Empty: the step is complete. An interrupted step may run
  // again: its rows then overwrite what they appended. Errors: Error when a step is refused; the
  // runner stays usable. DeviceError when the compute device has failed: some sinks may have been
  // called, take_lost() names the attention units that were lost too, and the runner must be
  // discarded, or kept unused if holds_lent().
  virtual std::vector<int> run(std::span<const RunnerItem> items, const LogitsSink& logits,
                               const TokenSink& tokens) = 0;
  // Returns the units that were lost in a run() that threw; each one once.
  virtual std::vector<int> take_lost() = 0;
  // Whether this lost unit gave no answer in time. Otherwise it failed.
  virtual bool is_silent(int unit) const = 0;

  // Whether few rows take much less time than many, as on a CPU. Then run() can be interrupted.
  virtual bool follows_rows() const { return false; }
  // run() calls `interrupts` between layers, if follows_rows(). When it returns true, run() ends
  // soon and has called no sink.
  virtual void interrupt_when(std::function<bool()> /*interrupts*/) {}

  // The ways that later steps may take with the present units. Before choose_way() is called, each
  // unit is fed in the way that it prefers.
  virtual StepWays ways() const { return {}; }
  virtual void choose_way(const StepWay& /*way*/) {}

  // Whether a unit that timed out may still use the runner's buffers.
  virtual bool holds_lent() const = 0;

  virtual device::ComputeStats stats() const = 0;
  // Times of the last run(); empty if operations end later than their calls.
  virtual std::optional<StepTimes> last_times() const { return {}; }
};

// Limits and sizes that all steps of a loop share.
struct StepShape {
  int max_rows = 0;
  int page_tokens = 0;
  DType kv_dtype = DType::kF16;
};

// A source that can make a runner. It has not loaded the model yet.
class StepRunnerSource {
 public:
  virtual ~StepRunnerSource() = default;
  virtual std::string id() const = 0;  // "cpu"
  // Called once. Errors: those of loading.
  virtual std::unique_ptr<StepRunner> make(const StepShape& shape) = 0;
};

}  // namespace tandem::engine
