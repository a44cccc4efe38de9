// SPDX-License-Identifier: Apache-2.0
//
// RecommenderComputation: forward and backward passes of a recommender's layers, without libtorch.
//
// It is like Computation (computation.h), for the layers between the bags and the score: bottom
// layers for the numbers, the dot products of every two of their result and the bags, and top
// layers for both. Bags are sums of table rows that the caller computes; the caller gets their
// gradients. All layers but the last end with max(x, 0). The loss is the log loss of the label in
// nats. Threads: one at a time. Errors: std::exception with libtorch's text. Source: Naumov et al.
// 2019 (DLRM).
#pragma once

#include "training/trainer/computation.h"

namespace tandem::training {

struct RecommenderSizes {
  int dense = 0, width = 0, tables = 0;
  int bottom_layers = 0, top_layers = 0;  // of parameters bottom.0.weight, ...
};

struct RecommenderBatch {
  int rows = 0;
  const float* dense = nullptr;   // [rows, dense]
  const float* bags = nullptr;    // [rows, tables, width]
  const float* labels = nullptr;  // [rows]: 0 or 1
};

class RecommenderComputation {
 public:
  virtual ~RecommenderComputation() = default;
  // Adds `scale` times the gradient of the summed losses to the parameters' gradients, and writes
  // it to bag_gradient, [rows, tables, width]. Returns the sum of the losses.
  virtual double backward(const RecommenderBatch& batch, float scale, float* bag_gradient,
                          GradientListener* listener) = 0;
  // Computes log odds without labels. scores: [rows]
  virtual void scores(const RecommenderBatch& batch, float* scores) = 0;
};

}  // namespace tandem::training

// The exports of libtandem_trainer.so. The caller deletes the computation.
extern "C" {
tandem::training::RecommenderComputation* tandem_trainer_make_recommender(
    const tandem::training::RecommenderSizes* sizes,
    const tandem::training::ComputationOptions* options,
    const tandem::training::ParameterMemory* parameters, std::size_t num_parameters);
}
