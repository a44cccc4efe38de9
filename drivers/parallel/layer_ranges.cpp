// SPDX-License-Identifier: Apache-2.0
//
// Cuts a list of layers by weights.
#include "parallel/layer_ranges.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "common/error.h"

namespace tandem::device::parallel {

LayerRanges::LayerRanges(std::span<const int> counts) : firsts_{0} {
  for (const int count : counts) {
    if (count < 1) throw Error("parallel", "a unit has " + std::to_string(count) + " layers");
    firsts_.push_back(firsts_.back() + count);
  }
  if (counts.empty()) throw Error("parallel", "there are no units to divide the layers among");
}

LayerRanges LayerRanges::by_weight(int num_layers, std::span<const double> weights) {
  const auto units = static_cast<int>(weights.size());
  if (units < 1 || num_layers < units) {
    throw Error("parallel", std::to_string(num_layers) + " layers cannot be divided among " +
                                std::to_string(units) + " devices; name fewer");
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int> counts;
  int cut = 0;
  double sum = 0;
  for (int unit = 0; unit < units; ++unit) {
    sum += weights[static_cast<std::size_t>(unit)];
    const double share = total > 0 ? sum / total : static_cast<double>(unit + 1) / units;
    const int wanted = static_cast<int>(std::lround(share * num_layers));
    const int next = std::clamp(wanted, cut + 1, num_layers - (units - 1 - unit));
    counts.push_back(next - cut);
    cut = next;
  }
  return LayerRanges(counts);
}

int LayerRanges::unit_of(int layer) const {
  if (layer < 0 || layer >= num_layers()) {
    throw Error("parallel", "layer " + std::to_string(layer) + " of " +
                                std::to_string(num_layers()) + " has no unit");
  }
  return static_cast<int>(std::ranges::upper_bound(firsts_, layer) - firsts_.begin()) - 1;
}

}  // namespace tandem::device::parallel
