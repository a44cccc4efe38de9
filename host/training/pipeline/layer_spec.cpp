// SPDX-License-Identifier: Apache-2.0
//
// Names are GGUF's: blk.3.attn_q.weight is of block 3.
#include "training/pipeline/layer_spec.h"

#include <charconv>
#include <string>

namespace tandem::training {
namespace {

constexpr const char* kEmbedding = "token_embd.weight";

// The layer whose own parameter it is.
std::size_t layer_of(const std::string& name, int num_blocks) {
  if (name == kEmbedding) return 0;
  if (!name.starts_with("blk.")) return static_cast<std::size_t>(num_blocks) + 1;
  std::size_t block = 0;
  std::from_chars(name.data() + 4, name.data() + name.size(), block);
  return block + 1;
}

}  // namespace

std::vector<LayerSpec> layers_of(const std::vector<ParameterSpec>& parameters, int num_blocks) {
  std::vector<LayerSpec> layers(static_cast<std::size_t>(num_blocks) + 2);
  layers.front().part = DecoderPart::kEmbedding;
  layers.back().part = DecoderPart::kOutput;
  for (int block = 0; block < num_blocks; ++block) {
    layers[static_cast<std::size_t>(block) + 1].block = block;
  }
  bool tied = true;
  for (std::size_t number = 0; number < parameters.size(); ++number) {
    LayerSpec& layer = layers[layer_of(parameters[number].name, num_blocks)];
    layer.parameters.push_back(parameters[number]);
    layer.numbers.push_back(number);
    tied = tied && parameters[number].name != "output.weight";
  }
  if (!tied) return layers;
  layers.back().parameters.push_back(layers.front().parameters.front());
  layers.front().tied = layers.back().tied = true;
  return layers;
}

}  // namespace tandem::training
