// SPDX-License-Identifier: Apache-2.0
//
// One overload per operation: a new operation without one does not compile. Each follows the shapes
// in compute_ops.h.
#include "device/op_operands.h"

#include <iterator>
#include <string>

#include "common/error.h"
#include "device/compute_unit.h"
#include "device/extents.h"

namespace tandem::device {
namespace {

// The state of map_operands() for one operation.
struct Mapping {
  OpLists& lists;
  OperandMap& map;

  void read(Slice& slice, std::size_t bytes) { slice = map.slice(slice, bytes, Access::kRead); }
  void write(Slice& slice, std::size_t bytes) { slice = map.slice(slice, bytes, Access::kWrite); }
  void update(Slice& slice, std::size_t bytes) { slice = map.slice(slice, bytes, Access::kUpdate); }
  void add_or_write(bool accumulate, Slice& slice, std::size_t bytes) {
    accumulate ? update(slice, bytes) : write(slice, bytes);
  }
  void weight(const Weight*& weight) {
    if (weight != nullptr) weight = map.weight(weight);
  }
  template <typename T>
  void keep(std::span<const T>& list) {
    list = lists.keep(list);
  }
};

const Weight& required(const Weight* weight, const char* what) {
  if (weight == nullptr) throw Error("device", std::string(what) + " is missing");
  return *weight;
}

void visit(EmbedOp& op, Mapping& to) {
  const Weight& table = required(op.table, "embed: the table");
  to.keep(op.ids);
  to.weight(op.table);
  to.write(op.out, float_bytes(std::ssize(op.ids), table.in_features()));
}

void visit(RmsNormOp& op, Mapping& to) {
  const Weight& weight = required(op.weight, "rms norm: the weight");
  const std::size_t bytes = float_bytes(op.rows, weight.in_features());
  to.weight(op.weight);
  to.read(op.x, bytes);
  to.add_or_write(op.accumulate, op.out, bytes);
}

void visit(LinearOp& op, Mapping& to) {
  const std::span<LinearTarget> targets = to.lists.copy(op.targets);
  for (const LinearTarget& target : targets) required(target.weight, "linear: a weight");
  const std::int64_t width = targets.empty() ? 0 : targets.front().weight->in_features();
  to.read(op.x, float_bytes(op.rows, width));
  if (op.up) to.read(op.up, float_bytes(op.rows, width));
  to.weight(op.norm);
  for (LinearTarget& target : targets) {
    const std::size_t bytes = float_bytes(op.rows, target.weight->out_features());
    to.weight(target.weight);
    to.weight(target.bias);
    to.add_or_write(target.accumulate, target.out, bytes);
  }
  op.targets = targets;
}

void visit(RopeOp& op, Mapping& to) {
  to.keep(op.positions);
  to.keep(op.inverse_frequencies);
  const std::span<RopeTarget> targets = to.lists.copy(op.targets);
  for (RopeTarget& target : targets) {
    to.weight(target.norm);
    to.update(target.x, float_bytes(op.rows, std::int64_t{target.heads} * op.head_dim));
  }
  op.targets = targets;
}

void visit(SoftcapOp& op, Mapping& to) { to.update(op.x, float_bytes(op.rows, op.width)); }

void visit(CausalAttentionOp& op, Mapping& to) {
  to.keep(op.chunks);
  const std::int64_t rows = end_row(op.chunks);
  const std::size_t q_bytes = float_bytes(rows, std::int64_t{op.q_heads} * op.head_dim);
  const std::size_t kv_bytes = float_bytes(rows, std::int64_t{op.kv_heads} * op.head_dim);
  to.read(op.q, q_bytes);
  to.read(op.k, kv_bytes);
  to.read(op.v, kv_bytes);
  to.update(op.o, q_bytes);  // rows of no chunk keep their values
  to.update(op.lse, float_bytes(rows, op.q_heads));
}

void visit(MergeOp& op, Mapping& to) {
  const std::int64_t width = std::int64_t{op.heads} * op.head_dim;
  const std::span<MergePartial> partials = to.lists.copy(op.partials);
  for (MergePartial& partial : partials) {
    const std::int64_t rows = end_row(partial.rows);
    to.keep(partial.rows);
    to.read(partial.o, float_bytes(rows, width));
    to.read(partial.lse, float_bytes(rows, op.heads));
  }
  op.partials = partials;
  to.write(op.out, float_bytes(op.rows, width));
}

void visit(GatherRowsOp& op, Mapping& to) {
  to.keep(op.rows);
  to.read(op.x, float_bytes(end_row(op.rows), op.width));
  to.write(op.out, float_bytes(std::ssize(op.rows), op.width));
}

void visit(ExpertsOp& op, Mapping& to) {
  if (op.experts.empty()) throw Error("device", "experts: the operation has no experts");
  const std::size_t bytes =
      float_bytes(op.rows, required(op.experts.front().gate, "experts: a weight").in_features());
  const std::span<Expert> experts = to.lists.copy(op.experts);
  for (Expert& expert : experts) {
    for (const Weight** weight : {&expert.gate, &expert.up, &expert.down}) {
      required(*weight, "experts: a weight");
      to.weight(*weight);
    }
  }
  op.experts = experts;
  to.read(op.x, bytes);
  to.read(op.router, float_bytes(op.rows, std::ssize(op.experts)));
  to.update(op.out, bytes);
}

void visit(GatedAddOp& op, Mapping& to) {
  const std::size_t bytes = float_bytes(op.rows, op.width);
  to.read(op.x, bytes);
  to.read(op.gate, float_bytes(op.rows, 1));
  to.update(op.out, bytes);
}

void visit(CopyOp& op, Mapping& to) {
  to.read(op.from, op.size_bytes);
  to.write(op.to, op.size_bytes);
}

void visit(std::span<const CopyOp>& list, Mapping& to) {
  const std::span<CopyOp> copies = to.lists.copy(list);
  for (CopyOp& copy : copies) visit(copy, to);
  list = copies;
}

void visit(Ring& ring, Mapping& to) {
  to.update(ring.words, sizeof(RingWords));
  to.update(ring.count, sizeof(RingCount));
}

void visit(PostOp& op, Mapping& to) {
  visit(op.copies, to);
  visit(op.ring, to);
}

void visit(AwaitOp& op, Mapping& to) {
  visit(op.ring, to);
  visit(op.copies, to);
}

void visit(SampleOp& op, Mapping& to) {
  to.keep(op.rows);
  const std::int64_t rows = std::ssize(op.rows);
  to.read(op.logits, float_bytes(rows, op.vocab));
  to.write(op.out, float_bytes(rows, 1));
}

}  // namespace

Op map_operands(const Op& op, OpLists& lists, OperandMap& map) {
  Op mapped = op;
  Mapping mapping{lists, map};
  std::visit([&](auto& operation) { visit(operation, mapping); }, mapped);
  return mapped;
}

}  // namespace tandem::device
