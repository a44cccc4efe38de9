// SPDX-License-Identifier: Apache-2.0
//
// LocalDirections: converts a rank's own gradients into the directions of its own optimiser's
// steps, before a sparsifier selects from them.
//
// A sparsifier delays small values and sends their sum later. Adam's moments treat a late sum of
// gradients as one huge gradient, but a late sum of steps is correct. This is momentum correction
// (Lin et al., ICLR 2018, section 3.1) for any rule with moments. Each rank has moments of its own
// gradients. A direction is delayed with its step's learning rate. Adam's second moment is scaled
// to that of the mean over ranks. Gradients are clipped by the own norm over the root of the number
// of ranks. A gradient with a NaN or infinity is passed on unchanged. Ownership: borrows parameters
// and listener. Threads: one. Errors: Error("train", ...) for a state of another model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/thread_pool.h"
#include "training/optimizer/optimizer.h"
#include "training/trainer/computation.h"
#include "training/trainer/parameter_set.h"

namespace tandem::training {

// Whether the rule has moments, so that its steps differ from its gradients.
bool has_directions(const UpdateRule& rule);

// The rule that applies mean directions, which are shares of `rate`: rate * direction, and the
// decay at the step's own learning rate.
UpdateRule rule_of_directions(const UpdateRule& rule, double rate);

struct DirectionOptions {
  std::vector<bool> chosen;  // parameters whose gradients are converted
  UpdateRule rule = Adam{};  // has_directions()
  int ranks = 1;
  double clip = 0;  // limit of the mean's norm; 0: none
  int threads = 1;
  bool prunes = false;  // the norm leaves out gradients of weights that are zero (pruning.h)
};

class LocalDirections final : public GradientListener {
 public:
  LocalDirections(ParameterSet& parameters, DirectionOptions options, GradientListener& next);

  // Call it before a pass. iteration: from 1. share: the step's learning rate / that of
  // rule_of_directions(). A direction that is sent later keeps the rate of its own step.
  void begin(std::uint64_t iteration, double share = 1);
  // Converts the gradient and calls the next listener. With a clip, both happen in finish().
  void ready(std::size_t parameter) override;
  void finish();
  // The squared norm of this rank's gradient in the step, before clipping.
  double squares() const { return squares_; }

  // The state of this rank, with the names of an Optimizer's.
  std::vector<StateView> state();
  std::vector<std::byte> bytes();
  void restore(const std::vector<std::byte>& bytes);

 private:
  struct Moments {
    RawVector<float> first, second;
  };

  void turn(std::size_t parameter, double scale);

  ParameterSet& parameters_;
  const DirectionOptions options_;
  GradientListener& next_;
  ThreadPool pool_;
  std::vector<Moments> moments_;      // by parameter; empty if it is not converted
  std::vector<std::size_t> waiting_;  // parameters that wait for the norm, in the order of arrival
  std::uint64_t iteration_ = 1;
  float share_ = 1;
  double squares_ = 0;
};

}  // namespace tandem::training
