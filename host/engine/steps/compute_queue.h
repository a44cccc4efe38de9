// SPDX-License-Identifier: Apache-2.0
//
// ComputeQueue: a compute unit as the parts of a step use it. Every op leaves a span on the
// timeline, and a wait that does not succeed is a DeviceError.
//
// Threads: the engine's; trace() also a unit's submission thread, as step_trace.h says. Ownership:
// borrows both. Errors: those of the unit; DeviceError when it does not finish within 10 minutes.
#pragma once

#include "device/compute_unit.h"
#include "engine/steps/step_trace.h"

namespace tandem::engine {

class ComputeQueue {
 public:
  ComputeQueue(device::ComputeUnit& unit, StepTrace& trace) : unit_(unit), trace_(trace) {}

  device::ComputeUnit& unit() const { return unit_; }
  StepTrace& trace() const { return trace_; }
  // Whether device buffers are host memory, so that nothing is copied between the two.
  bool is_host_memory() const { return unit_.device_memory_is_host(); }

  void enqueue(const device::EmbedOp& op) { add(op, "embed", size(op.ids)); }
  void enqueue(const device::RmsNormOp& op) { add(op, "norm", op.rows); }
  void enqueue(const device::LinearOp& op) { add(op, "linear", op.rows); }
  void enqueue(const device::RopeOp& op) { add(op, "rope", op.rows); }
  void enqueue(const device::SoftcapOp& op) { add(op, "softcap", op.rows); }
  void enqueue(const device::CausalAttentionOp& op) { add(op, "causal attention", -1); }
  void enqueue(const device::MergeOp& op) { add(op, "merge", op.rows); }
  void enqueue(const device::GatherRowsOp& op) { add(op, "gather", size(op.rows)); }
  void enqueue(const device::ExpertsOp& op) { add(op, "experts", op.rows); }
  void enqueue(const device::GatedAddOp& op) { add(op, "gated add", op.rows); }
  void enqueue(const device::CopyOp& op) {
    add(op, "copy", -1, static_cast<std::int64_t>(op.size_bytes));
  }
  void enqueue(const device::SampleOp& op) { add(op, "sample", size(op.rows)); }

  void enqueue(const device::PostOp& op) { add(op, "post", -1, size_of(op.copies)); }
  void enqueue(const device::AwaitOp& op) { add(op, "await", -1, size_of(op.copies)); }

  device::Ticket record() { return unit_.record(); }
  void wait(device::Ticket ticket);
  void sync() { wait(record()); }

 private:
  template <typename List>
  static std::int64_t size(const List& list) {
    return static_cast<std::int64_t>(list.size());
  }
  static std::int64_t size_of(std::span<const device::CopyOp> copies) {
    std::size_t bytes = 0;
    for (const device::CopyOp& copy : copies) bytes += copy.size_bytes;
    return static_cast<std::int64_t>(bytes);
  }
  template <typename Op>
  void add(const Op& op, std::string_view name, std::int64_t rows, std::int64_t bytes = -1) {
    const trace::Span span = trace_.op(name, rows, bytes);
    unit_.enqueue(op);
  }

  device::ComputeUnit& unit_;
  StepTrace& trace_;
};

}  // namespace tandem::engine
