// SPDX-License-Identifier: Apache-2.0
//
// LayerWindows: the attention windows of a model's layers. Layers with one window share a layout.
//
// Threads: plain data.
#pragma once

#include <cstddef>
#include <vector>

#include "model/model.h"

namespace tandem::engine {

struct LayerWindows {
  explicit LayerWindows(const model::ModelConfig& config);
  int of(int layer) const { return distinct[index_of[static_cast<std::size_t>(layer)]]; }

  std::vector<int> distinct;          // in tokens; 0: the layer sees everything
  std::vector<std::size_t> index_of;  // [num_layers], into distinct
};

}  // namespace tandem::engine
