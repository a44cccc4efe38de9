// SPDX-License-Identifier: Apache-2.0
//
// TrainedLayer: a layer on the rank that trains it: parameters, gradients, passes, optimiser state.
//
// bytes() is what another rank needs to go on with the layer between steps: values and optimiser
// state. late_bytes() is what the passes of a step change: gradients, and residuals of replicas.
// The bits of an update do not depend on the rank. Ownership: borrows the pool. Threads: one.
// Errors: those of the computation and the optimiser; Error("train", ...) for bytes of another
// layer.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/thread_pool.h"
#include "training/optimizer/optimizer.h"
#include "training/pipeline/layer_spec.h"
#include "training/pipeline/replica_mean.h"
#include "transport/payload.h"

namespace tandem::training {

struct LayerTools {
  MakeLayer make;
  UpdateRule rule = Adam{};
  ThreadPool& pool;
  const ReduceOptions* replicas = nullptr;  // null: there is one
};

class TrainedLayer {
 public:
  TrainedLayer(const LayerSpec& spec, const LayerTools& tools);
  TrainedLayer(const TrainedLayer&) = delete;
  TrainedLayer& operator=(const TrainedLayer&) = delete;

  const LayerSpec& spec() const { return spec_; }
  ParameterSet& parameters() { return parameters_; }
  LayerComputation& passes() { return *passes_; }
  // The parameter number of the embedding matrix, or of the output's copy of it.
  std::size_t shared_matrix() const { return spec_.is_tied_output() ? spec_.numbers.size() : 0; }

  // The sum of squares of the gradient of each of its own parameters. prunes: without the gradients
  // of weights that are zero.
  std::vector<double> squares(bool prunes);
  void update(const StepFactors& step);
  std::vector<StateView> state() { return optimizer_.state(); }

  std::uint64_t num_bytes();
  transport::ByteBuffer bytes();
  void restore(std::span<const std::byte> bytes);
  transport::ByteBuffer late_bytes();
  void restore_late(std::span<const std::byte> bytes);

  // Of sparse sums over replicas; empty where there are none. For checkpoints.
  transport::ByteBuffer residuals() const;
  void restore_residuals(std::span<const std::byte> bytes);

  // Of the gradients, over the replicas of this rank.
  void sum_over(collectives::Group& peers, bool dense) { replicas_->sum(peers, dense); }

 private:
  std::vector<std::span<float>> kept();

  const LayerSpec spec_;
  ParameterSet parameters_;
  std::unique_ptr<LayerComputation> passes_;
  Optimizer optimizer_;
  std::vector<std::uint32_t> numbers_;     // of the optimiser
  std::unique_ptr<ReplicaMean> replicas_;  // null: there is one
};

}  // namespace tandem::training
