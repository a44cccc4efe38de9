// SPDX-License-Identifier: Apache-2.0
//
// One overload per operation: a new operation without one does not compile.
#include "device/op_summary.h"

#include <iterator>
#include <string>

#include "common/error.h"

namespace tandem::device {
namespace {

std::int64_t total_bytes(std::span<const CopyOp> copies) {
  std::size_t bytes = 0;
  for (const CopyOp& copy : copies) bytes += copy.size_bytes;
  return static_cast<std::int64_t>(bytes);
}

OpSummary summary(const EmbedOp& op) { return {"embed", std::ssize(op.ids)}; }
OpSummary summary(const RmsNormOp& op) { return {"norm", op.rows}; }
OpSummary summary(const LinearOp& op) { return {"linear", op.rows}; }
OpSummary summary(const RopeOp& op) { return {"rope", op.rows}; }
OpSummary summary(const SoftcapOp& op) { return {"softcap", op.rows}; }
OpSummary summary(const CausalAttentionOp&) { return {"causal attention"}; }
OpSummary summary(const MergeOp& op) { return {"merge", op.rows}; }
OpSummary summary(const GatherRowsOp& op) { return {"gather", std::ssize(op.rows)}; }
OpSummary summary(const ExpertsOp& op) { return {"experts", op.rows}; }
OpSummary summary(const GatedAddOp& op) { return {"gated add", op.rows}; }
OpSummary summary(const CopyOp& op) {
  return {"copy", -1, static_cast<std::int64_t>(op.size_bytes)};
}
OpSummary summary(const PostOp& op) { return {"post", -1, total_bytes(op.copies)}; }
OpSummary summary(const AwaitOp& op) { return {"await", -1, total_bytes(op.copies)}; }
OpSummary summary(const SampleOp& op) { return {"sample", std::ssize(op.rows)}; }

}  // namespace

OpSummary describe(const Op& op) {
  return std::visit([](const auto& operation) { return summary(operation); }, op);
}

void refuse(const Op& op) {
  throw Error("device", "this compute unit does not have the operation '" +
                            std::string(describe(op).name) + "'; ask supports() first");
}

}  // namespace tandem::device
