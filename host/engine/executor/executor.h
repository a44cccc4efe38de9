// SPDX-License-Identifier: Apache-2.0
//
// Executor: runs the rows of a step through the model: dense layers on the compute unit, attention
// on the attention units.
//
// With two sub-batches, one's attention is in flight while the compute unit works on the other's
// dense layers. After a DeviceError, some sinks may have been called only where a step has more
// rows of logits than max_logit_rows. Buffers that a unit borrowed before it timed out are kept as
// long as the executor, because the unit may still use them. Ownership: borrows the model; borrows
// or owns the compute unit. For the rest see step_runner.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/attention_unit.h"
#include "device/compute_unit.h"
#include "engine/steps/executor_options.h"
#include "engine/steps/step_runner.h"
#include "model/model.h"

namespace tandem::engine {

class Executor final : public StepRunner {
 public:
  Executor(const model::Model& model, device::ComputeUnit& compute, const ExecutorOptions& options);
  Executor(const model::Model& model, std::unique_ptr<device::ComputeUnit> compute,
           const ExecutorOptions& options);
  ~Executor() override;

  const LoadedWeights& weights() const override;
  void add_unit(device::AttentionUnit& unit, const std::string& id = {}) override;
  void replace_unit(int unit, device::AttentionUnit& with) override;
  bool shares_queue_with(const device::AttentionUnit& unit) const override;
  bool samples() const override;
  std::vector<int> run(std::span<const RunnerItem> items, const LogitsSink& logits,
                       const TokenSink& tokens) override;
  std::vector<int> run(std::span<const RunnerItem> items, const LogitsSink& logits) {
    return run(items, logits, {});
  }
  std::vector<int> take_lost() override;
  bool is_silent(int unit) const override;
  bool follows_rows() const override;
  void interrupt_when(std::function<bool()> interrupts) override;
  StepWays ways() const override;
  void choose_way(const StepWay& way) override;
  bool holds_lent() const override;
  device::ComputeStats stats() const override;
  std::optional<StepTimes> last_times() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Makes one executor. The values of the StepShape replace those in `options`.
class ExecutorSource final : public StepRunnerSource {
 public:
  ExecutorSource(const model::Model& model, device::ComputeUnit& compute, ExecutorOptions options);
  ExecutorSource(const model::Model& model, std::unique_ptr<device::ComputeUnit> compute,
                 ExecutorOptions options);

  std::string id() const override { return options_.compute_id; }
  std::unique_ptr<StepRunner> make(const StepShape& shape) override;

 private:
  const model::Model& model_;
  std::unique_ptr<device::ComputeUnit> owned_;  // until make()
  device::ComputeUnit& compute_;
  ExecutorOptions options_;
};

}  // namespace tandem::engine
