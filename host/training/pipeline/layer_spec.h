// SPDX-License-Identifier: Apache-2.0
//
// LayerSpec: what a pipeline moves and places as one: the embedding, a block, or output and loss.
//
// Layers of a decoder: 0 the embedding, then its blocks, then the output. Where the embedding is
// the output matrix too, the output has a copy of it; the embedding's holder sums and updates. Pure
// values.
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
  int block = 0;                          // its number, of kBlock
  std::vector<ParameterSpec> parameters;  // a tied output's copy is the last
  std::vector<std::size_t> numbers;       // in the whole model, of those that are its own
  bool tied = false;                      // embedding and output: they share a matrix

  bool is_tied_output() const { return tied && part == DecoderPart::kOutput; }
};

// parameters: of the whole model, in its order.
std::vector<LayerSpec> layers_of(const std::vector<ParameterSpec>& parameters, int num_blocks);

// The passes of a layer, on these parameters.
using MakeLayer =
    std::function<std::unique_ptr<LayerComputation>(const LayerSpec& layer, ParameterSet&)>;

}  // namespace tandem::training
