// SPDX-License-Identifier: Apache-2.0
//
// Computes times from bytes, bandwidths and assumptions.
#include "engine/planning/estimate_costs.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem::engine {
namespace {

// Assumed for a device that states nothing.
constexpr double kBandwidth = 20e9;
// From this number of rows on, arithmetic limits the dense layers.
constexpr double kRidgeRows = 8, kMostRows = 8192;
// Arithmetic of attention: this many rows attend in the time of one read of their tokens.
constexpr double kRowsPerRead = 4;
constexpr double kLinkBandwidth = 8e9;

double or_else(double value, double otherwise) { return value > 0 ? value : otherwise; }

}  // namespace

planner::AttentionKind attention_kind(const device::AttentionGeometry& geometry) {
  return {geometry.q_heads / std::max(1, geometry.kv_heads), geometry.kv_dtype};
}

RowBytes row_bytes(const device::AttentionGeometry& geometry) {
  const double q = sizeof(float) * static_cast<double>(geometry.q_heads) * geometry.head_dim;
  const double kv = sizeof(float) * static_cast<double>(geometry.kv_heads) * geometry.head_dim;
  return {q + 2 * kv, q + sizeof(float) * static_cast<double>(geometry.q_heads)};
}

planner::DeviceCost& entry_of(planner::CostTable& table, const std::string& id) {
  const auto found = std::ranges::find(table.devices, id, &planner::DeviceCost::id);
  if (found != table.devices.end()) return *found;
  planner::DeviceCost& added = table.devices.emplace_back();
  added.id = id;
  return added;
}

void set_unit_costs(const planner::DeviceCost& from, planner::DeviceCost& to) {
  to.attention = from.attention;
  to.to_device = from.to_device;
  to.from_device = from.from_device;
  to.launch_s = from.launch_s;
  to.page_move_s = from.page_move_s;
}

planner::DeviceCost estimate_unit(const std::string& id, const device::AttentionUnit& unit) {
  const device::AttentionGeometry& geometry = unit.geometry();
  const device::AttentionCapacity capacity = unit.capacity();
  const double token_bytes = static_cast<double>(device::page_image_bytes(geometry)) /
                             geometry.page_tokens / geometry.num_layers;
  const double token_s = token_bytes / or_else(capacity.read_bandwidth_bytes_per_s, kBandwidth);
  planner::DeviceCost cost;
  cost.id = id;
  planner::AttentionCost& attention = cost.attention.emplace_back();
  attention.kind = attention_kind(geometry);
  attention.by_tokens = planner::Curve::line(0, token_s);
  attention.per_pair_s = token_s / kRowsPerRead;
  attention.rows_per_read = 1 << 20;
  const double link = or_else(capacity.link_bandwidth_bytes_per_s, kLinkBandwidth);
  if (capacity.link_bandwidth_bytes_per_s > 0) {
    cost.to_device = cost.from_device = {capacity.link_latency_us * 1e-6 / 2, link};
  }
  cost.page_move_s = static_cast<double>(device::page_image_bytes(geometry)) / link;
  return cost;
}

planner::CostTable estimate_costs(const StatedCompute& compute, std::span<const NamedUnit> units) {
  planner::CostTable table;
  const double bandwidth = or_else(compute.bytes_per_s, kBandwidth);
  for (const NamedUnit& unit : units) {
    table.devices.push_back(estimate_unit(unit.id, *unit.unit));
  }
  planner::DeviceCost& cost = entry_of(table, compute.id);
  const double read = compute.weight_bytes / bandwidth;
  // One point per octave, so that each can be corrected separately.
  std::vector<planner::CurvePoint> points = {{1, read}};
  for (double rows = kRidgeRows; rows <= kMostRows; rows *= 2) {
    points.push_back({rows, read * rows / kRidgeRows});
  }
  cost.dense_by_rows = planner::Curve(std::move(points));
  if (units.empty()) return table;
  const device::AttentionGeometry& geometry = units.front().unit->geometry();
  cost.merge_row_s = 3 * row_bytes(geometry).from_unit / bandwidth;
  cost.causal_pair_s = table.devices.front().attention.front().per_pair_s;
  cost.sampling_row_s = read / 100;
  return table;
}

}  // namespace tandem::engine
