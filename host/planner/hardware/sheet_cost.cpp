// SPDX-License-Identifier: Apache-2.0
//
// From a data sheet to a cost table, by the roofline: a part takes the longer of its bytes over the
// bandwidth and its operations over the arithmetic. Rows: 1 to 8192, at powers of two and the
// ridge.
#include <algorithm>
#include <cmath>
#include <set>

#include "planner/hardware/device_sheet.h"

namespace tandem::planner {
namespace {

constexpr double kMostRows = 8192;
constexpr double kActivationBytes = 2;

double ops_per_s(const DeviceSheet& sheet, bool is_8_bit) {
  return is_8_bit && sheet.i8_ops_per_s > 0 ? sheet.i8_ops_per_s : sheet.f16_ops_per_s;
}

// Weights of one byte save memory traffic; the products are those of 16-bit types.
double dense_s(const ComputeGroup& group, const ModelShape& model, double weight_bytes,
               double rows) {
  const DeviceSheet& sheet = group.sheet;
  const double read = model.parameters_read(rows) * weight_bytes /
                      (group.count * sheet.bytes_per_s * sheet.reached.weight_bandwidth);
  const double ops =
      rows * model.ops_per_row() / (group.count * sheet.f16_ops_per_s * sheet.reached.dense_ops);
  double sums = 0;
  if (group.count > 1) {
    // A ring of n moves 2 (n-1)/n of the bytes; small sums take the latency of one exchange.
    const double bytes =
        rows * model.width * kActivationBytes * 2 * (group.count - 1) / group.count;
    sums = 2 * model.num_layers * group.peers.seconds(bytes);
  }
  return std::max(read, ops) + sums;
}

Curve dense_curve(const ComputeGroup& group, const ModelShape& model, double weight_bytes) {
  const DeviceSheet& sheet = group.sheet;
  const double read = model.parameters_read(kMostRows) * weight_bytes /
                      (sheet.bytes_per_s * sheet.reached.weight_bandwidth);
  const double ridge = read * sheet.f16_ops_per_s * sheet.reached.dense_ops / model.ops_per_row();
  std::set<double> rows = {ridge};
  for (double n = 1; n <= kMostRows; n *= 2) rows.insert(n);
  std::vector<CurvePoint> points;
  double least = 0;
  for (const double n : rows) {
    least = std::max(least, dense_s(group, model, weight_bytes, n));
    points.push_back({n, least});
  }
  return Curve(std::move(points));
}

AttentionCost attention_cost(const DeviceSheet& sheet, int count, const ModelShape& model,
                             DType kv_dtype) {
  const double layer_bytes = kv_bytes_per_token(model, kv_dtype) / model.num_layers;
  const bool is_8_bit = kv_has_8_bits(kv_dtype);
  AttentionCost cost;
  cost.kind = {model.head_group(), kv_dtype};
  cost.by_tokens =
      Curve::line(0, layer_bytes / (count * sheet.bytes_per_s * sheet.reached.kv_bandwidth));
  const double ops_per_pair = 4.0 * model.q_heads * model.head_dim;
  cost.per_pair_s =
      ops_per_pair / (count * ops_per_s(sheet, is_8_bit) * sheet.reached.attention_ops);
  cost.rows_per_read = sheet.rows_per_read;
  return cost;
}

}  // namespace

bool kv_has_8_bits(DType kv_dtype) { return dtype_block_bytes(kv_dtype) == 1; }

double kv_bytes_per_token(const ModelShape& model, DType kv_dtype) {
  const double scale = kv_has_8_bits(kv_dtype) ? 4 : 0;  // one f32 per token and head
  const double row = static_cast<double>(dtype_block_bytes(kv_dtype)) * model.head_dim + scale;
  return 2.0 * model.num_layers * model.kv_heads * row;
}

DeviceCost cost_of(const ComputeGroup& group, const ModelShape& model, const Precision& precision) {
  const DeviceSheet& sheet = group.sheet;
  DeviceCost cost;
  cost.id = sheet.name;
  cost.dense_by_rows = dense_curve(group, model, precision.weight_bytes);
  cost.attention.push_back(attention_cost(sheet, group.count, model, precision.kv_dtype));
  cost.launch_s = sheet.launch_s;
  const double bandwidth = group.count * sheet.bytes_per_s * sheet.reached.kv_bandwidth;
  cost.merge_row_s = 3.0 * model.q_heads * model.head_dim * sizeof(float) / bandwidth;
  cost.sampling_row_s = 2.0 * model.vocab_size * sizeof(float) / bandwidth;
  return cost;
}

DeviceCost cost_of(const DeviceSheet& unit, const LinkSheet& link, const ModelShape& model,
                   const Precision& precision) {
  DeviceCost cost;
  cost.id = unit.name;
  cost.attention.push_back(attention_cost(unit, 1, model, precision.kv_dtype));
  cost.to_device = cost.from_device = {link.latency_s, link.bytes_per_s};
  cost.launch_s = unit.launch_s;
  return cost;
}

}  // namespace tandem::planner
