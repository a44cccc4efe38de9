// SPDX-License-Identifier: Apache-2.0
//
// DenseUpdate: where the weights of a ParameterSet are changed by their mean gradients.
//
//   update->begin(step);           // before the backward pass
//   update->take(bucket);          // while it runs, as GradientMean tells
//   update->apply(step);           // every rank has the new weights; or drop(): none has
//
// Two kinds: in place, on every rank; or by a HostOffload, which divides the work over ranks and
// holds the state once. The second takes buckets early where apply()'s step is begin()'s: nothing
// is clipped, and no step is left out. Both give the same bits. Ownership: borrows group and
// parameters. Threads: one. Errors: those of Optimizer and HostOffload; TransportError.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "training/optimizer/optimizer.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/gradient_mean.h"
#include "training/trainer/parameter_set.h"

namespace tandem::training {

class DenseUpdate {
 public:
  virtual ~DenseUpdate() = default;
  virtual void begin(const StepFactors& step) = 0;
  virtual void take(const MeanBucket& bucket) = 0;
  virtual void apply(const StepFactors& step) = 0;
  // All ranks. What was updated early stays: the caller reads other weights.
  virtual void drop() = 0;
  // What this rank has of it.
  virtual std::vector<StateView> state() = 0;
};

struct DenseUpdateOptions {
  UpdateRule rule = Adam{};
  int threads = 1;
  bool early = false;  // of make_offloaded_update()
  std::chrono::milliseconds timeout{60'000};
};

std::unique_ptr<DenseUpdate> make_update_in_place(ParameterSet& parameters,
                                                  const DenseUpdateOptions& options);
// group: the reducer's; null for one rank.
std::unique_ptr<DenseUpdate> make_offloaded_update(collectives::Group* group,
                                                   ParameterSet& parameters,
                                                   const DenseUpdateOptions& options);

// The rule of a parameter: vectors do not decay.
UpdateRule rule_of(const ParameterSpec& spec, const UpdateRule& rule);

// The state of all ranks, as a checkpoint keeps it: one vector per parameter and slot.
std::vector<TensorPlace> state_places(const ParameterSet& parameters, const UpdateRule& rule);

// One parameter's or table's. width: values of a row.
void add_state_places(const std::string& name, std::uint64_t count, std::uint32_t width,
                      const UpdateRule& rule, std::vector<TensorPlace>& places);

}  // namespace tandem::training
