// SPDX-License-Identifier: Apache-2.0
//
// LayerSplitUnit: every operation on the unit that it belongs to.
#include <utility>
#include <vector>

#include "common/error.h"
#include "parallel/extents.h"
#include "parallel/layer_split_unit.h"

namespace tandem::device::parallel {

void LayerSplitUnit::enqueue(const EmbedOp& op) {
  if (op.table == nullptr) throw Error("parallel", "embed: the table is missing");
  const Weight* const weights[] = {op.table};
  const int unit = choose(weights, {});
  EmbedOp local = op;
  local.table = on(unit, op.table);
  local.out = write(unit, op.out, float_bytes(std::ssize(op.ids), op.table->in_features()));
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const RmsNormOp& op) {
  if (op.weight == nullptr) throw Error("parallel", "rms norm: the weight is missing");
  const Weight* const weights[] = {op.weight};
  const int unit = choose(weights, op.x);
  const std::size_t bytes = float_bytes(op.rows, op.weight->in_features());
  RmsNormOp local = op;
  local.weight = on(unit, op.weight);
  local.x = read(unit, op.x, bytes);
  local.out = op.accumulate ? update(unit, op.out, bytes) : write(unit, op.out, bytes);
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const LinearOp& op) {
  if (op.targets.empty() || op.rows == 0) return;
  std::vector<const Weight*> weights = {op.norm};
  for (const LinearTarget& target : op.targets) {
    if (target.weight == nullptr) throw Error("parallel", "linear: a weight is missing");
    weights.insert(weights.end(), {target.weight, target.bias});
  }
  const int unit = choose(weights, op.x);
  const std::size_t in_bytes = float_bytes(op.rows, op.targets.front().weight->in_features());
  LinearOp local = op;
  local.x = read(unit, op.x, in_bytes);
  if (op.up) local.up = read(unit, op.up, in_bytes);
  local.norm = on(unit, op.norm);
  std::vector<LinearTarget> targets(op.targets.begin(), op.targets.end());
  for (LinearTarget& target : targets) {
    const std::size_t bytes = float_bytes(op.rows, target.weight->out_features());
    target.out =
        target.accumulate ? update(unit, target.out, bytes) : write(unit, target.out, bytes);
    target.weight = on(unit, target.weight);
    target.bias = on(unit, target.bias);
  }
  local.targets = targets;
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const RopeOp& op) {
  if (op.targets.empty()) return;
  std::vector<const Weight*> norms;
  for (const RopeTarget& target : op.targets) norms.push_back(target.norm);
  const int unit = choose(norms, op.targets.front().x);
  RopeOp local = op;
  std::vector<RopeTarget> targets(op.targets.begin(), op.targets.end());
  for (RopeTarget& target : targets) {
    const std::int64_t width = std::int64_t{target.heads} * op.head_dim;
    target.x = update(unit, target.x, float_bytes(op.rows, width));
    target.norm = on(unit, target.norm);
  }
  local.targets = targets;
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const SoftcapOp& op) {
  const int unit = choose({}, op.x);
  SoftcapOp local = op;
  local.x = update(unit, op.x, float_bytes(op.rows, op.width));
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const CausalAttentionOp& op) {
  const int unit = choose({}, op.q);
  const std::int64_t rows = end_row(op.chunks);
  const std::int64_t q_width = std::int64_t{op.q_heads} * op.head_dim;
  const std::size_t kv_bytes = float_bytes(rows, std::int64_t{op.kv_heads} * op.head_dim);
  CausalAttentionOp local = op;
  local.q = read(unit, op.q, float_bytes(rows, q_width));
  local.k = read(unit, op.k, kv_bytes);
  local.v = read(unit, op.v, kv_bytes);
  local.o = update(unit, op.o, float_bytes(rows, q_width));
  local.lse = update(unit, op.lse, float_bytes(rows, op.q_heads));
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const MergeOp& op) {
  const int unit = choose({}, op.partials.empty() ? op.out : op.partials.front().o);
  const std::int64_t width = std::int64_t{op.heads} * op.head_dim;
  MergeOp local = op;
  std::vector<MergePartial> partials(op.partials.begin(), op.partials.end());
  for (MergePartial& partial : partials) {
    const std::int64_t rows = end_row(partial.rows);
    partial.o = read(unit, partial.o, float_bytes(rows, width));
    partial.lse = read(unit, partial.lse, float_bytes(rows, op.heads));
  }
  local.partials = partials;
  local.out = write(unit, op.out, float_bytes(op.rows, width));
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const GatherRowsOp& op) {
  const int unit = choose({}, op.x);
  GatherRowsOp local = op;
  local.x = read(unit, op.x, float_bytes(end_row(op.rows), op.width));
  local.out = write(unit, op.out, float_bytes(std::ssize(op.rows), op.width));
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const ExpertsOp& op) {
  std::vector<const Weight*> weights;
  for (const Expert& expert : op.experts) {
    if (expert.gate == nullptr || expert.up == nullptr || expert.down == nullptr) {
      throw Error("parallel", "experts: a weight is missing");
    }
    weights.insert(weights.end(), {expert.gate, expert.up, expert.down});
  }
  if (weights.empty()) throw Error("parallel", "experts: there are none");
  const int unit = choose(weights, op.x);
  const std::size_t bytes = float_bytes(op.rows, weights.front()->in_features());
  ExpertsOp local = op;
  local.x = read(unit, op.x, bytes);
  local.router = read(unit, op.router, float_bytes(op.rows, std::ssize(op.experts)));
  std::vector<Expert> experts(op.experts.begin(), op.experts.end());
  for (Expert& expert : experts) {
    expert = {on(unit, expert.gate), on(unit, expert.up), on(unit, expert.down)};
  }
  local.experts = experts;
  local.out = update(unit, op.out, bytes);
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const GatedAddOp& op) {
  const int unit = choose({}, op.x);
  const std::size_t bytes = float_bytes(op.rows, op.width);
  GatedAddOp local = op;
  local.x = read(unit, op.x, bytes);
  local.gate = read(unit, op.gate, float_bytes(op.rows, 1));
  local.out = update(unit, op.out, bytes);
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const CopyOp& op) {
  const int unit = choose({}, op.from);
  CopyOp local = op;
  local.from = read(unit, op.from, op.size_bytes);
  local.to = write(unit, op.to, op.size_bytes);
  group_.enqueue(unit, local);
}

void LayerSplitUnit::enqueue(const SampleOp& op) {
  const int unit = choose({}, op.logits);
  const std::int64_t rows = std::ssize(op.rows);
  SampleOp local = op;
  local.logits = read(unit, op.logits, float_bytes(rows, op.vocab));
  local.out = write(unit, op.out, float_bytes(rows, 1));
  group_.enqueue(unit, local);
}

}  // namespace tandem::device::parallel
