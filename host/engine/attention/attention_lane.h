// SPDX-License-Identifier: Apache-2.0
//
// AttentionLane: a way to send rows to attention units and to receive results. Every attention unit
// of an exchange belongs to one lane.
//
//   queue_lane.h   units that work in the compute unit's queue, on its device buffers
//   host_lane.h    units that the engine's thread feeds from host memory
//   staged_lane.h  the same, with copies of rows and results between device and host memory
//   ring_lane.h    units with their own thread, fed by the compute unit's queue
// Threads: the engine's. Ownership: a lane borrows its units; the exchange owns the buffers that it
// lends to them. Errors: those of the compute unit pass through.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "device/attention_unit.h"
#include "engine/attention/attention_layout.h"
#include "engine/attention/layer_windows.h"
#include "engine/attention/lent_buffers.h"
#include "engine/attention/unit_losses.h"
#include "engine/steps/compute_queue.h"
#include "engine/steps/executor_options.h"
#include "engine/steps/step_rows.h"
#include "model/model.h"

namespace tandem::engine {

// One layer of one sub-batch.
struct StepPlace {
  int layer = 0;
  std::size_t sub_batch = 0;
};

// A step as lanes see it: the lent buffers, the layouts, and the first row of each sub-batch.
struct LaneStep {
  const AttentionLayout& layout(const StepPlace& place) const {
    const std::size_t window = windows->index_of[static_cast<std::size_t>(place.layer)];
    return lent->layouts[place.sub_batch][window];
  }

  const LentBuffers* lent = nullptr;
  const LayerWindows* windows = nullptr;
  // index of the sub-batch's first row in the step
  std::array<std::size_t, kMaxSubBatches> first_row{};
};

// The context that all lanes share.
struct LaneContext {
  LaneContext(ComputeQueue& queue, const model::ModelConfig& config, const ExecutorOptions& options,
              UnitLosses& losses)
      : queue(queue),
        config(config),
        options(options),
        losses(losses),
        q_width(static_cast<std::size_t>(config.q_heads) * config.head_dim),
        kv_width(static_cast<std::size_t>(config.kv_heads) * config.head_dim),
        q_heads(static_cast<std::size_t>(config.q_heads)) {}

  // The batch without its rows.
  device::AttentionBatch batch_of(const UnitShare& share, int layer) const;
  Deadline timeout() const { return Deadline::after(options.device_timeout); }

  ComputeQueue& queue;
  const model::ModelConfig& config;
  const ExecutorOptions& options;
  UnitLosses& losses;
  const std::size_t q_width, kv_width, q_heads;  // floats per row
};

// For each layer of each sub-batch the exchange calls, in this order: send_queries() after the
// projection of q, if the unit gets queries early; bring_rows() and submit() after the projection
// of k and v; collect() and return_results() when the results are needed. If a call returns false,
// a unit is lost, and the step ends by abort().
class AttentionLane {
 public:
  virtual ~AttentionLane() = default;

  // The host memory that its units use.
  virtual HostRows host_rows() const { return HostRows::kNone; }
  // Whether its units have their own submission threads.
  virtual bool has_own_threads() const { return false; }

  // `unit`: its number in layouts. A unit of this number is replaced; nothing of it is in flight. A
  // call that throws changes nothing.
  virtual void add_unit(int unit, device::AttentionUnit& device) = 0;
  virtual void remove_unit(int unit) = 0;

  virtual void begin(const LaneStep& step) = 0;

  // Called when q is enqueued. Sends q to the units that get queries early.
  virtual bool send_queries(const StepPlace&) { return true; }
  // Called when q, k and v are enqueued. Enqueues their copies to the lane's units.
  virtual void bring_rows(const StepPlace&) {}
  // Whether submit() reads what the compute unit writes. Then the caller waits for the compute unit
  // first.
  virtual bool reads_rows(const StepPlace&) const { return false; }
  virtual bool submit(const StepPlace&) { return true; }

  // Waits for work in flight outside the compute unit's queue, also for tickets of a lost unit:
  // only this wait ends its use of borrowed memory.
  virtual bool collect(std::size_t /*sub_batch*/) { return true; }
  // Enqueues the copies of the results to the partial buffers.
  virtual void return_results(const StepPlace&) {}

  // Called at the end of a step, when the compute unit's queue is done. Returns whether the units
  // have done their part.
  virtual bool finish() { return true; }
  // Ends an interrupted step, after collect() of every sub-batch. Nothing is in flight any more.
  virtual void abort() {}
};

}  // namespace tandem::engine
