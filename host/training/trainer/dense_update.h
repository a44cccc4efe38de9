// SPDX-License-Identifier: Apache-2.0
//
// DenseUpdate: applies the mean gradients to the weights of a ParameterSet.
//
//   update->begin(step);    // before the backward pass
//   update->take(bucket);   // during it, for every bucket of GradientMean
//   update->apply(step);    // then every rank has the new weights; or drop(): skips the step
//
// In place: every rank updates all weights. Offloaded: a HostOffload divides them over the ranks.
// Both give the same bits. With `early` the offloaded one updates during the backward pass; apply()
// must then get the same step as begin(). Ownership: borrows group, parameters and the mean.
// Threads: one. Errors: those of Optimizer and HostOffload; TransportError.
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
  // Called on all ranks. Early updates are not undone: the caller restores the weights.
  virtual void drop() = 0;
  // The part of the state on this rank.
  virtual std::vector<StateView> state() = 0;
};

struct DenseUpdateOptions {
  UpdateRule rule = Adam{};
  int threads = 1;
  bool early = false;  // for make_offloaded_update()
  std::chrono::milliseconds timeout{60'000};
  // By parameter: true if its means are directions, which rule_of_directions() applies. Empty: none
  // are.
  std::vector<bool> directions = {};
  double rate_of_directions = 1;
};

std::unique_ptr<DenseUpdate> make_update_in_place(ParameterSet& parameters,
                                                  const GradientMean& mean,
                                                  const DenseUpdateOptions& options);
// group: the reducer's group; null for one rank.
std::unique_ptr<DenseUpdate> make_offloaded_update(collectives::Group* group,
                                                   ParameterSet& parameters,
                                                   const DenseUpdateOptions& options);

// The rule of a parameter: weight decay does not apply to vectors.
UpdateRule rule_of(const ParameterSpec& spec, const UpdateRule& rule);

// The state of all ranks, as a checkpoint stores it: one vector per parameter and slot.
std::vector<TensorPlace> state_places(const ParameterSet& parameters, const UpdateRule& rule);

// The same for one parameter or table. width: values of a row.
void add_state_places(const std::string& name, std::uint64_t count, std::uint32_t width,
                      const UpdateRule& rule, std::vector<TensorPlace>& places);

}  // namespace tandem::training
