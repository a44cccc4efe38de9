// SPDX-License-Identifier: Apache-2.0
//
// TensorSplitUnit: products by columns and by rows, experts, and their sums.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "common/error.h"
#include "device/extents.h"
#include "parallel/host_peer_copy.h"
#include "parallel/tensor_split_unit.h"

namespace tandem::device::parallel {

// The sum of every unit's range replaces `out`: in place, or in scratch memory where `out` is a
// host buffer, which the units share.
struct TensorSplitUnit::Reduced {
  Slice out;
  std::size_t size_bytes = 0;
  std::vector<Slice> parts;  // [units]
  bool in_place = true;
};

TensorSplitUnit::Reduced TensorSplitUnit::begin_sum(const Slice& out, std::size_t size_bytes,
                                                    bool accumulate, std::size_t scratch_at) {
  Reduced sum{out, size_bytes, {}, !buffer_of(out).in_host_memory()};
  if (accumulate) make_whole(out, size_bytes);
  for (int unit = 0; unit < group_.size(); ++unit) {
    if (sum.in_place) {
      sum.parts.push_back(write(unit, out, size_bytes));
      continue;
    }
    Slice part = summed_.of(unit, scratch_at + size_bytes);
    part.offset_bytes = scratch_at;
    sum.parts.push_back(part);
    if (unit == 0 && accumulate) {
      group_.enqueue(unit, CopyOp{size_bytes, read(unit, out, size_bytes), part});
    }
  }
  mark_whole(out, size_bytes);
  return sum;
}

void TensorSplitUnit::end_sum(const Reduced& sum) {
  group_.together([&] { reducer_->all_reduce(sum.parts, sum.size_bytes / sizeof(float)); });
  if (sum.in_place) return;
  group_.enqueue(0, CopyOp{sum.size_bytes, sum.parts[0], write(0, sum.out, sum.size_bytes)});
}

Slice TensorSplitUnit::zeros(int unit, std::size_t size_bytes) {
  std::unique_ptr<Buffer>& buffer = zeros_[static_cast<std::size_t>(unit)];
  if (buffer && buffer->size_bytes() >= size_bytes) return {buffer.get(), 0};
  group_.on(unit, [&](ComputeUnit& compute) {
    finish(compute);
    buffer.reset();
    const auto source = compute.allocate(size_bytes, MemoryKind::kHost);
    std::memset(source->host().data(), 0, size_bytes);
    auto filled = compute.allocate(size_bytes, MemoryKind::kDevice);
    compute.enqueue(CopyOp{size_bytes, {source.get(), 0}, {filled.get(), 0}});
    finish(compute);
    buffer = std::move(filled);
  });
  return {buffer.get(), 0};
}

void TensorSplitUnit::handle(const LinearOp& op) {
  if (op.targets.empty() || op.rows == 0) return;
  std::size_t by_inputs = 0;
  for (const LinearTarget& target : op.targets) {
    const TensorWeight& weight = weight_of(target.weight, "linear: a weight");
    by_inputs += weight.split() == WeightSplit::kInputs ? 1 : 0;
    if (weight.in_features() != op.targets.front().weight->in_features()) {
      throw Error("parallel", "linear: the weights have different numbers of inputs");
    }
  }
  if (by_inputs == 0) return multiply_columns(op);
  if (by_inputs == op.targets.size() && op.norm == nullptr) return multiply_rows(op);
  throw Error(
      "parallel",
      "linear: a weight divided by inputs takes no norm and no weights that are divided otherwise");
}

// The targets that `unit` computes. Only the first unit computes whole ones in a host buffer.
std::vector<LinearTarget> TensorSplitUnit::local_targets(int unit, const LinearOp& op) const {
  std::vector<LinearTarget> targets;
  for (const LinearTarget& target : op.targets) {
    const TensorWeight& weight = weight_of(target.weight, "linear: a weight");
    LinearTarget local = target;
    local.weight = weight.share(unit);
    if (target.bias != nullptr) {
      local.bias = weight_of(target.bias, "linear: a bias").share(unit);
    }
    if (weight.split() == WeightSplit::kOutputs) {
      local.out = shard(unit, target.out);
    } else if (writes(unit, target.out)) {
      local.out = write(unit, target.out, float_bytes(op.rows, weight.out_features()));
    } else {
      continue;
    }
    targets.push_back(local);
  }
  return targets;
}

void TensorSplitUnit::multiply_columns(const LinearOp& op) {
  const std::size_t in_bytes = float_bytes(op.rows, op.targets.front().weight->in_features());
  make_whole(op.x, in_bytes);
  if (op.up) make_whole(op.up, in_bytes);
  for (const bool marks :
       {false, true}) {  // first everything that is read, then everything that is written
    for (const LinearTarget& target : op.targets) {
      const TensorWeight& weight = weight_of(target.weight, "linear: a weight");
      const std::int64_t width = weight.out_features();
      const bool by_columns = weight.split() == WeightSplit::kOutputs;
      if (marks) {
        by_columns ? mark_shards(target.out, op.rows, width)
                   : mark_whole(target.out, float_bytes(op.rows, width));
      } else if (target.accumulate) {
        by_columns ? make_shards(target.out, op.rows, width)
                   : make_whole(target.out, float_bytes(op.rows, width));
      }
    }
  }
  for (int unit = 0; unit < group_.size(); ++unit) {
    LinearOp local = op;
    const std::vector<LinearTarget> targets = local_targets(unit, op);
    if (targets.empty()) continue;
    local.targets = targets;
    local.x = read(unit, op.x, in_bytes);
    if (op.up) local.up = read(unit, op.up, in_bytes);
    if (op.norm != nullptr) local.norm = weight_of(op.norm, "linear: the norm").share(unit);
    group_.enqueue(unit, local);
  }
}

void TensorSplitUnit::multiply_rows(const LinearOp& op) {
  const std::int64_t in_features = op.targets.front().weight->in_features();
  make_shards(op.x, op.rows, in_features);
  if (op.up) make_shards(op.up, op.rows, in_features);
  std::vector<Reduced> sums;
  std::size_t total = 0, scratch_at = 0;
  for (const LinearTarget& target : op.targets) {
    total += float_bytes(op.rows, target.weight->out_features());
  }
  for (const LinearTarget& target : op.targets) {
    const std::size_t bytes = float_bytes(op.rows, target.weight->out_features());
    if (buffer_of(target.out).in_host_memory()) {
      for (int unit = 0; unit < group_.size(); ++unit) summed_.of(unit, total);  // grows once
    }
    sums.push_back(begin_sum(target.out, bytes, target.accumulate, scratch_at));
    scratch_at += bytes;
  }
  for (int unit = 0; unit < group_.size(); ++unit) {
    LinearOp local = op;
    local.x = shard(unit, op.x);
    if (op.up) local.up = shard(unit, op.up);
    std::vector<LinearTarget> targets;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const LinearTarget& target = op.targets[i];
      const bool first = unit == 0;  // the residual and the bias count once
      const Weight* bias = target.bias == nullptr || !first
                               ? nullptr
                               : weight_of(target.bias, "linear: a bias").share(unit);
      targets.push_back({weight_of(target.weight, "linear: a weight").share(unit), bias,
                         sums[i].parts[static_cast<std::size_t>(unit)],
                         first && target.accumulate});
    }
    local.targets = targets;
    group_.enqueue(unit, local);
  }
  for (const Reduced& sum : sums) end_sum(sum);
}

void TensorSplitUnit::handle(const ExpertsOp& op) {
  if (op.experts.empty()) throw Error("parallel", "experts: the operation has no experts");
  if (op.rows == 0) return;
  const TensorWeight& first = weight_of(op.experts.front().gate, "experts: a weight");
  const bool divided = first.split() == WeightSplit::kOutputs;
  const std::size_t bytes = float_bytes(op.rows, first.in_features());
  const std::size_t router_bytes = float_bytes(op.rows, std::ssize(op.experts));
  make_whole(op.x, bytes);
  make_whole(op.router, router_bytes);
  const Reduced sum = begin_sum(op.out, bytes, true, 0);
  for (int unit = 0; unit < group_.size(); ++unit) {
    ExpertsOp local = op;
    std::vector<Expert> experts;
    for (const Expert& expert : op.experts) {
      experts.push_back({weight_of(expert.gate, "experts: a weight").share(unit),
                         weight_of(expert.up, "experts: a weight").share(unit),
                         weight_of(expert.down, "experts: a weight").share(unit)});
    }
    local.experts = experts;
    local.x = read(unit, op.x, bytes);
    local.router = read(unit, op.router, router_bytes);
    local.out = sum.parts[static_cast<std::size_t>(unit)];
    if (divided && unit > 0) group_.enqueue(unit, CopyOp{bytes, zeros(unit, bytes), local.out});
    if (divided || sum.in_place || unit == 0) group_.enqueue(unit, local);
  }
  if (divided) {
    end_sum(sum);
  } else if (!sum.in_place) {
    group_.enqueue(0, CopyOp{bytes, sum.parts[0], write(0, op.out, bytes)});
  }
}

}  // namespace tandem::device::parallel
