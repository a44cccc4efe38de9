// SPDX-License-Identifier: Apache-2.0
//
// Cuts over the weights of all layers of a pipeline (declared in pipeline_trainer.h).
//
// The ranks add up how many weights have which magnitudes, so all cut at the same one. A layer on
// its way is on two ranks: its old owner counts it, and both cut it.
#include <vector>

#include "collectives/collective.h"
#include "training/pipeline/pipeline_trainer.h"
#include "training/trainer/pruning.h"

namespace tandem::training {

void PipelineTrainer::cut_together_with_others(int first_trained) {
  std::vector<ParameterSet*> sets, counted;
  for (const auto& [number, layer] : layers_) {
    if (!learns(number, first_trained)) continue;
    sets.push_back(&layer->parameters());
    if (plan_.rank_of(number) == rank()) counted.push_back(&layer->parameters());
  }
  const auto sum = [&](std::vector<std::uint64_t>& counts) {
    if (group_ == nullptr) return;
    collectives::ReduceOptions options;
    options.timeout = options_.reduce.timeout;
    collectives::allreduce(*group_, collectives::DenseView::of(counts), options);
  };
  cut_together(options_.pruning, {step_ + 1, options_.steps}, sets, counted, sum);
}

}  // namespace tandem::training
