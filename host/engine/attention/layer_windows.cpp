// SPDX-License-Identifier: Apache-2.0
//
// The list of distinct windows.
#include "engine/attention/layer_windows.h"

#include <algorithm>

namespace tandem::engine {

LayerWindows::LayerWindows(const model::ModelConfig& config) {
  for (int layer = 0; layer < config.num_layers; ++layer) {
    int window = config.window_of(layer);
    if (window >= config.context_length) window = 0;  // nothing is ever outside
    const auto found = std::ranges::find(distinct, window);
    index_of.push_back(static_cast<std::size_t>(found - distinct.begin()));
    if (found == distinct.end()) distinct.push_back(window);
  }
}

}  // namespace tandem::engine
