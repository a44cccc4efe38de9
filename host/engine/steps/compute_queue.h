// SPDX-License-Identifier: Apache-2.0
//
// ComputeQueue: submits the operations of a step to the compute unit. Records a span on the
// timeline for every operation, and throws DeviceError if a wait does not succeed.
//
// Threads: the engine's; trace() also a unit's submission thread, see step_trace.h. Ownership:
// borrows both arguments. Errors: the unit's; DeviceError if it needs more than 10 minutes.
#pragma once

#include <chrono>
#include <variant>

#include "device/compute_unit.h"
#include "device/op_summary.h"
#include "engine/steps/step_times.h"
#include "engine/steps/step_trace.h"

namespace tandem::engine {

class ComputeQueue {
 public:
  ComputeQueue(device::ComputeUnit& unit, StepTrace& trace) : unit_(unit), trace_(trace) {}

  device::ComputeUnit& unit() const { return unit_; }
  StepTrace& trace() const { return trace_; }
  // Whether device buffers are host memory, so that nothing is copied between the two.
  bool is_host_memory() const { return unit_.device_memory_is_host(); }

  void enqueue(const device::Op& op) {
    const device::OpSummary summary = device::describe(op);
    const trace::Span span = trace_.op(summary.name, summary.rows, summary.bytes);
    if (!is_host_memory()) return unit_.enqueue(op);
    const auto begin = StepTrace::Clock::now();
    unit_.enqueue(op);
    part_of(op) += std::chrono::duration<double>(StepTrace::Clock::now() - begin).count();
  }

  // Times of the operations, if they end with their calls. The caller resets them.
  StepTimes& times() { return times_; }

  device::Ticket record() { return unit_.record(); }
  void wait(device::Ticket ticket);
  void sync() { wait(record()); }

 private:
  double& part_of(const device::Op& op) {
    if (std::holds_alternative<device::MergeOp>(op)) return times_.merge;
    return std::holds_alternative<device::CausalAttentionOp>(op) ? times_.causal : times_.dense;
  }

  device::ComputeUnit& unit_;
  StepTrace& trace_;
  StepTimes times_;
};

}  // namespace tandem::engine
