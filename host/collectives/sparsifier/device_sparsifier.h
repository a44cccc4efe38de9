// SPDX-License-Identifier: Apache-2.0
//
// Sparsifiers whose residual lies in a device's memory: the gradient is added and selected from
// there, and only entries travel to the host and to other ranks.
//
//   auto sparsifier = make_device_sparsifier("micro", device->make_selection_unit({n}), options);
//   StepResult result = sparsifier->step(group, {bytes, DType::kF16, {Memory::kDevice, id,
//   queue}}); sparsifier->unit().put(...);  // the mean, into a gradient on the device
//
// topk, hard_threshold and micro: the rules, the results and the states are those of the
// sparsifiers of these names (sparsifier.h), bit for bit, with gradients of the same values. All
// ranks use a device, or none does; they may be of different kinds. Errors: as Sparsifier. A device
// that fails in the check of a gradient is an Error on every rank; later, a DeviceError on its
// rank, and a TransportError on the others once they time out.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/sparsifier/algorithm.h"
#include "collectives/sparsifier/exchange.h"
#include "collectives/sparsifier/threshold_control.h"
#include "device/selection_unit.h"

namespace tandem::collectives {

class DeviceSparsifier {
 public:
  enum class Rule : std::uint8_t { kTopK, kHardThreshold, kMicro };

  DeviceSparsifier(std::string name, Rule rule, std::unique_ptr<device::SelectionUnit> unit,
                   const SparsifierOptions& options);

  StepResult step(Group& group, const device::GradientView& gradient);

  std::string_view name() const { return name_; }
  ClearingRule clearing_rule() const;
  std::uint64_t num_steps() const { return step_; }
  device::SelectionUnit& unit() { return *unit_; }

  // Copies the residual to the host. A Sparsifier of the same name takes this state, and the other
  // way round.
  SparsifierState state();
  void restore(const SparsifierState& state);

 private:
  std::uint64_t num_values() const { return unit_->shape().num_values; }
  Deadline deadline() const { return Deadline::after(options_.reduce.timeout); }
  std::uint64_t target() const;
  void reduce(StepContext& context);
  void reduce_top(StepContext& context);
  void reduce_large(StepContext& context);
  void reduce_partition(StepContext& context);
  void exchange_everything(StepContext& context);
  void send_union(StepContext& context, const Indices& own, Selectors selectors);
  void send_own(StepContext& context, const device::SelectedEntries& entries);

  std::string name_;
  Rule rule_;
  std::unique_ptr<device::SelectionUnit> unit_;
  SparsifierOptions options_;
  ThresholdControl control_;
  std::uint64_t step_ = 0;
};

// Error for a name that is not listed, or an option out of range.
std::unique_ptr<DeviceSparsifier> make_device_sparsifier(
    std::string_view name, std::unique_ptr<device::SelectionUnit> unit,
    const SparsifierOptions& options = {});
std::vector<std::string> device_sparsifier_names();

}  // namespace tandem::collectives
