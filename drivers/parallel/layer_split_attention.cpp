// SPDX-License-Identifier: Apache-2.0
//
// LayerSplitAttention: finds the part of a layer.
#include "parallel/layer_split_attention.h"

#include <string>
#include <utility>

#include "common/error.h"
#include "parallel/layer_split_unit.h"

namespace tandem::device::parallel {
namespace {

std::vector<AttentionPart> parts_of(const AttentionGeometry& geometry, const LayerRanges& layers,
                                    std::vector<std::unique_ptr<AttentionUnit>> units) {
  if (static_cast<int>(units.size()) != layers.num_units() ||
      layers.num_layers() != geometry.num_layers) {
    throw Error("parallel", std::to_string(layers.num_layers()) + " layers on " +
                                std::to_string(layers.num_units()) + " units do not fit " +
                                std::to_string(units.size()) + " units and " +
                                std::to_string(geometry.num_layers) + " layers");
  }
  std::vector<AttentionPart> parts;
  for (auto& unit : units) {
    const auto index = static_cast<int>(parts.size());
    parts.push_back({std::move(unit), layer_slice(geometry, layers, index)});
  }
  return parts;
}

}  // namespace

PageSlice layer_slice(const AttentionGeometry& geometry, const LayerRanges& layers, int unit) {
  return {layers.first(unit), layers.count(unit), 0, geometry.kv_heads};
}

LayerSplitAttention::LayerSplitAttention(const AttentionGeometry& geometry,
                                         const LayerRanges& layers,
                                         std::vector<std::unique_ptr<AttentionUnit>> units,
                                         std::shared_ptr<AddressBook> book)
    : CompositeAttention(geometry, parts_of(geometry, layers, std::move(units)), std::move(book)),
      layers_(layers) {}

bool LayerSplitAttention::works_in_queue_of(const ComputeUnit& compute) const {
  if (book() == nullptr || book()->owner != &compute) return false;
  return parts_work_in_queues_of(static_cast<LayerSplitUnit&>(*book()->owner));
}

void LayerSplitAttention::move_to(int unit, AttentionBatch& batch, AttentionPartial& out) const {
  auto& compute = static_cast<LayerSplitUnit&>(*book()->owner);
  const auto rows = [&](std::span<const float>& values) {
    const Slice at = book()->find(values.data());
    if (at) values = device_floats(compute.read(unit, at, values.size_bytes()), values.size());
  };
  const auto results = [&](std::span<float>& values) {
    const Slice at = book()->find(values.data());
    if (at) values = device_floats(compute.update(unit, at, values.size_bytes()), values.size());
  };
  rows(batch.q);
  rows(batch.k);
  rows(batch.v);
  results(out.o);
  results(out.lse);
}

Ticket LayerSplitAttention::submit(const AttentionBatch& batch, AttentionPartial out) {
  check(batch, out);
  const int unit = layers_.unit_of(batch.layer);
  AttentionBatch local = batch;
  local.layer -= layers_.first(unit);
  Flight flight;
  or_lost([&] {
    if (book() != nullptr && book()->owner != nullptr && works_in_queue_of(*book()->owner)) {
      move_to(unit, local, out);
    }
    submit_part(flight, unit, local, out);
  });
  return launch(std::move(flight));
}

}  // namespace tandem::device::parallel
