// SPDX-License-Identifier: Apache-2.0
//
// LayerRanges: which unit of a layer split has which layers.
//
// Unit u has the layers [first(u), first(u + 1)). Weights before the layers are on the first unit,
// weights after them on the last. Threads: plain data. Errors: Error naming the numbers.
#pragma once

#include <span>
#include <vector>

namespace tandem::device::parallel {

class LayerRanges {
 public:
  // Contiguous shares whose sizes are as near to `weights` (a unit's speed) as whole layers allow,
  // at least one layer each.
  static LayerRanges by_weight(int num_layers, std::span<const double> weights);
  // counts: [units], each at least 1.
  explicit LayerRanges(std::span<const int> counts);

  int num_units() const { return static_cast<int>(firsts_.size()) - 1; }
  int num_layers() const { return firsts_.back(); }
  int first(int unit) const { return firsts_[static_cast<std::size_t>(unit)]; }
  int count(int unit) const { return first(unit + 1) - first(unit); }
  int unit_of(int layer) const;

 private:
  std::vector<int> firsts_;  // [units + 1]: the first layer of each unit, then the number of layers
};

}  // namespace tandem::device::parallel
