// SPDX-License-Identifier: Apache-2.0
//
// LayerSplitAttention: an attention unit that keeps the pages of a layer on the unit of that layer.
//
// A whole batch goes to the part of its layer, with that part's layer number. If the parts work in
// the queues of a LayerSplitUnit, rows and results may be in its buffers; they are made current on
// the unit of the layer, without a wait. Threads, errors: as CompositeAttention.
#pragma once

#include <memory>
#include <vector>

#include "parallel/composite_attention.h"
#include "parallel/layer_ranges.h"

namespace tandem::device::parallel {

class LayerSplitAttention final : public CompositeAttention {
 public:
  // units: [layers.num_units()], each for its layers alone.
  LayerSplitAttention(const AttentionGeometry& geometry, const LayerRanges& layers,
                      std::vector<std::unique_ptr<AttentionUnit>> units,
                      std::shared_ptr<AddressBook> book = nullptr);

  Ticket submit(const AttentionBatch& batch, AttentionPartial out) override;
  bool works_in_queue_of(const ComputeUnit& compute) const override;

 private:
  void move_to(int unit, AttentionBatch& batch, AttentionPartial& out) const;

  const LayerRanges layers_;
};

// The slice of unit `unit`.
PageSlice layer_slice(const AttentionGeometry& geometry, const LayerRanges& layers, int unit);

}  // namespace tandem::device::parallel
