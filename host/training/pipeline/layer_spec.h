// SPDX-License-Identifier: Apache-2.0
//
// LayerSpec: the unit that a pipeline places and moves: the embedding, a block, or output and loss.
//
// Layers of a decoder: 0 is the embedding, then its blocks, then the output. If the embedding is
// also the output matrix, the output has a copy of it; the rank with the embedding adds up both
// gradients and updates the matrix. Plain values.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "training/trainer/layer_computation.h"
#include "training/trainer/parameter_set.h"

namespace tandem::training {

struct LayerSpec {
  DecoderPart part = DecoderPart::kBlock;
  int block = 0;                          // number of the block, for kBlock
  std::vector<ParameterSpec> parameters;  // a tied output's copy is the last
  std::vector<std::size_t> numbers;       // numbers in the whole model, of its own parameters
  bool tied = false;                      // embedding and output: they share a matrix

  bool is_tied_output() const { return tied && part == DecoderPart::kOutput; }
};

// parameters: of the whole model, in its order.
std::vector<LayerSpec> layers_of(const std::vector<ParameterSpec>& parameters, int num_blocks);

// The passes of a layer, on these parameters.
using MakeLayer =
    std::function<std::unique_ptr<LayerComputation>(const LayerSpec& layer, ParameterSet&)>;

}  // namespace tandem::training
