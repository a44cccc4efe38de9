// SPDX-License-Identifier: Apache-2.0
//
// TrainedLayer: a layer on the rank that trains it: parameters, gradients, passes, optimiser state.
//
// bytes() is all that another rank needs to go on with the layer: values and optimiser state, not
// the gradients, so a layer moves between steps. The bits of an update do not depend on the rank.
// Ownership: borrows the pool. Threads: one. Errors: those of the computation and the optimiser;
// Error("train", ...) for bytes of another layer.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/thread_pool.h"
#include "training/optimizer/optimizer.h"
#include "training/pipeline/layer_spec.h"
#include "transport/payload.h"

namespace tandem::training {

struct LayerTools {
  MakeLayer make;
  UpdateRule rule = Adam{};
  ThreadPool& pool;
};

class TrainedLayer {
 public:
  TrainedLayer(const LayerSpec& spec, const LayerTools& tools);
  TrainedLayer(const TrainedLayer&) = delete;
  TrainedLayer& operator=(const TrainedLayer&) = delete;

  const LayerSpec& spec() const { return spec_; }
  ParameterSet& parameters() { return parameters_; }
  LayerComputation& passes() { return *passes_; }
  // Of the embedding, or of the output's copy of it.
  std::size_t shared_matrix() const { return spec_.is_tied_output() ? spec_.numbers.size() : 0; }

  // Of its own parameters' gradients, one each. prunes: without those of weights that are zero.
  std::vector<double> squares(bool prunes);
  void update(const StepFactors& step);
  std::vector<StateView> state() { return optimizer_.state(); }

  std::uint64_t num_bytes();
  transport::ByteBuffer bytes();
  void restore(std::span<const std::byte> bytes);

 private:
  std::vector<std::span<float>> kept();

  const LayerSpec spec_;
  ParameterSet parameters_;
  std::unique_ptr<LayerComputation> passes_;
  Optimizer optimizer_;
  std::vector<std::uint32_t> numbers_;  // of the optimiser
};

}  // namespace tandem::training
