// SPDX-License-Identifier: Apache-2.0
//
// AttentionExchange: between the compute unit's rows and the attention units: q, k, v to each unit
// that needs them, its partial results back, merged.
//
// A unit that works in the compute unit's queue reads and writes device buffers, and nothing waits
// for it. Other units work on host memory: where device buffers are not that, just the rows that
// they read are copied there and their results back, which costs one wait per layer and sub-batch;
// where they are, nothing is copied. Where the compute unit has rings, such units have threads of
// their own instead (attention_ring.h), and a step is enqueued without a wait. Units behind a link
// are submitted to first and waited for last, since a unit in host memory may do its work inside
// submit() or wait(). Units that are sent queries early attend to the past while k and v are
// projected; the newest token is then one more partial, the compute unit's. The first failure of a
// unit ends the step: every call says so by false, then land(). Threads: the engine's. Ownership:
// borrows units, queue and configuration; what a unit that timed out may still use is set aside for
// the exchange's life. Errors: those of the compute unit; a unit's, for a batch that it refused,
// once all others are through.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "device/attention_unit.h"
#include "engine/attention/attention_layout.h"
#include "engine/attention/attention_ring.h"
#include "engine/steps/compute_queue.h"
#include "engine/executor/dense_layers.h"
#include "engine/steps/executor_options.h"
#include "engine/attention/lent_buffers.h"
#include "engine/steps/step_rows.h"
#include "model/model.h"

namespace tandem::engine {

// The windows that a model's layers have: one layout serves all layers of a window.
struct LayerWindows {
  explicit LayerWindows(const model::ModelConfig& config);
  int of(int layer) const { return distinct[index_of[static_cast<std::size_t>(layer)]]; }

  std::vector<int> distinct;
  std::vector<std::size_t> index_of;  // [num_layers]
};

// Whether a unit is to be sent queries early. `projection_seconds`: of k and v of one row; 0:
// unknown.
bool sends_early_query(EarlyQuery choice, const device::AttentionCapacity& unit,
                       double projection_seconds);

class AttentionExchange {
 public:
  // `projection_seconds` as in sends_early_query().
  AttentionExchange(const model::ModelConfig& config, ComputeQueue& queue,
                    const ExecutorOptions& options, double projection_seconds);

  // Whether the unit has a submission thread of its own.
  bool add_unit(device::AttentionUnit& unit);

  void prepare(const StepRows& rows);

  // Where the projections of the sub-batch belong.
  Projections projections(std::size_t sub_batch) const;
  // Whether q is to be projected alone and sent by send_queries() before k and v are.
  bool queries_go_first(int layer, std::size_t sub_batch) const;
  bool send_queries(int layer, std::size_t sub_batch);
  // Everything else, q, k, v having been enqueued; with the attention inside chunks.
  bool launch(int layer, std::size_t sub_batch);
  // Waits for what the sub-batch has in flight outside the compute unit's queue. False when a unit
  // was lost; also a lost unit's tickets are waited for, since only that gives back what they
  // borrowed.
  bool collect(std::size_t sub_batch);
  // Where the attention of the sub-batch's rows lies once what is enqueued is done.
  device::Slice merge(int layer, std::size_t sub_batch);

  // After a wait for the queue at the end of a step: whether the units in it have done their part.
  bool settle();
  // Ends an interrupted step: nothing is in flight any more, and nothing that a stuck unit borrowed
  // is used again.
  void land();

  bool has_lost() const { return !lost_.empty(); }
  std::vector<int> take_lost() { return std::exchange(lost_, {}); }
  // Whether buffers are set aside, so that a unit may still use them.
  bool holds_lent() const { return !set_aside_.empty(); }

 private:
  using Clock = StepTrace::Clock;
  struct Unit {
    device::AttentionUnit* unit = nullptr;
    bool has_link = false;
    bool in_queue = false;                // of the compute unit
    std::unique_ptr<AttentionRing> ring;  // none: the engine's thread submits
    bool alive = true;
    bool stuck = false;         // timed out: it still has what it was lent
    device::Ticket queued = 0;  // the last one in the queue, until settle()
  };
  struct InFlight {
    int unit = 0;
    device::Ticket ticket = 0;
    Clock::time_point submitted;
    trace::SpanDetails details;
    bool traced = false;
  };
  struct SubBatch {
    const SubBatchRows* rows = nullptr;
    std::vector<InFlight> in_flight;
  };

  std::unique_ptr<LentBuffers> make_lent();
  HostRows host_rows_of(const Unit& unit) const;
  Unit& unit_of(const UnitShare& share) { return units_[static_cast<std::size_t>(share.unit)]; }
  const Unit& unit_of(const UnitShare& share) const {
    return units_[static_cast<std::size_t>(share.unit)];
  }
  bool is_staged(const UnitShare& share) const {
    const Unit& unit = unit_of(share);
    return !queue_.is_host_memory() && !unit.in_queue && !unit.ring;
  }
  const AttentionLayout& layout_of(int layer, std::size_t sub_batch) const;
  // The rows of all staged shares, as few ranges.
  std::span<const RowSpan> staged_spans(const AttentionLayout& layout, RowSpan UnitShare::*rows);
  void copy_rows(std::span<const RowSpan> spans, std::size_t first_row, std::size_t width,
                 const std::unique_ptr<device::Buffer>& from,
                 const std::unique_ptr<device::Buffer>& to);
  // Whether units that the engine's thread submits to are sent queries early.
  bool sends_queries(const AttentionLayout& layout) const;
  void stage_queries(const AttentionLayout& layout, std::size_t first_row);
  void stage_keys_values(const AttentionLayout& layout, std::size_t first_row);
  void return_results(const UnitShare& share, std::size_t first_row);
  template <typename Wanted>
  bool submit_all(int layer, std::size_t sub_batch, const Wanted& wanted);
  device::AttentionBatch batch_of(int layer) const;
  bool submit(const UnitShare& share, int layer, std::size_t sub_batch);
  void attend_inside_chunks(int layer, std::size_t sub_batch);
  void trace_end(const Unit& unit, InFlight& run);
  device::WaitResult wait_for(const Unit& unit, device::Ticket ticket, Deadline deadline);
  Deadline timeout() const { return Deadline::after(options_.device_timeout); }
  bool end_runs(std::size_t sub_batch);
  bool end_queued();
  void throw_refused();
  void lose(int index);
  template <typename Call>
  void for_rings(const Call& call);
  void open_rings();
  bool close_rings();
  void drain_rings();

  const model::ModelConfig& config_;
  ComputeQueue& queue_;
  const ExecutorOptions& options_;
  const double projection_seconds_;
  const LayerWindows windows_;
  const std::size_t q_width_, kv_width_, q_heads_;

  std::unique_ptr<device::Buffer> attention_, causal_o_, causal_lse_;
  std::unique_ptr<LentBuffers> lent_;  // none between a land() that set it aside and prepare()
  std::vector<std::unique_ptr<LentBuffers>> set_aside_;
  std::vector<Unit> units_;
  std::vector<bool> early_;  // [units]

  // Of rings.
  std::atomic<bool> step_failed_{false};
  bool rings_are_open_ = false, rings_are_abandoned_ = false;

  // Of the step that is running.
  std::array<SubBatch, kMaxSubBatches> sub_batches_;
  std::vector<int> lost_;
  bool lent_is_stuck_ = false;
  std::exception_ptr refused_;  // of a batch that its unit refused
  std::vector<RowSpan> spans_;  // of staged_spans()
  std::vector<device::MergePartial> merge_partials_;
};

}  // namespace tandem::engine
