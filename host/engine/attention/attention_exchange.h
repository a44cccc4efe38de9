// SPDX-License-Identifier: Apache-2.0
//
// AttentionExchange: sends q, k and v from the compute unit's rows to the attention units that need
// them, collects their partial results, and merges these.
//
// Each unit belongs to one lane (attention_lane.h); the exchange calls the lanes in order. The
// first failure of a unit ends the step: the call returns false, and the caller calls abort().
// Threads: the engine's. Ownership: borrows units, queue and configuration; owns the lent buffers,
// and keeps those that a stuck unit may still use until that unit is replaced. Errors: those of the
// compute unit. If a unit refuses a batch, its error is thrown after all other units have finished.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/attention_unit.h"
#include "engine/attention/attention_lane.h"
#include "engine/attention/chunk_attention.h"
#include "engine/attention/host_lane.h"
#include "engine/attention/queue_lane.h"
#include "engine/attention/ring_lane.h"
#include "engine/steps/step_rows.h"
#include "engine/steps/step_way.h"
#include "model/model.h"

namespace tandem::engine {

class AttentionExchange {
 public:
  // `projection_seconds`: see sends_early_query().
  AttentionExchange(const model::ModelConfig& config, ComputeQueue& queue,
                    const ExecutorOptions& options, double projection_seconds);

  // Adds the unit. Returns whether its lane has its own submission threads.
  bool add_unit(device::AttentionUnit& unit);
  // Does the same as StepRunner::replace_unit().
  void replace_unit(int unit, device::AttentionUnit& with);

  // The ways that a step may take, the usual one first. There is more than one if a unit has a
  // ring, or if a unit is behind a link and the option is EarlyQuery::kAuto.
  std::vector<StepWay> ways() const;
  void choose_way(const StepWay& way) { way_ = way; }

  void begin(const StepRows& rows);

  // The places for the projections of the sub-batch.
  Projections projections(std::size_t sub_batch) const;
  // Whether q must be projected alone and sent by send_queries() before k and v. A unit that gets
  // queries early attends to the past while k and v are projected; the compute unit then adds the
  // newest token as one more partial.
  bool queries_go_first(const StepPlace& place) const;
  bool send_queries(const StepPlace& place);
  // Sends all remaining work of the place, with the attention inside chunks. Call it when q, k and
  // v are enqueued.
  bool launch(const StepPlace& place);
  // Waits for the sub-batch's work in flight outside the compute unit's queue.
  bool collect(std::size_t sub_batch);
  // The slice that has the attention of the place's rows after the enqueued work.
  device::Slice merge(const StepPlace& place);

  // After a wait for the queue at the end of a step: whether the units have done their part.
  bool finish();
  // Ends an interrupted step: nothing is in flight any more, and nothing that a stuck unit borrowed
  // is used again.
  void abort();

  bool has_lost() const { return losses_.has_lost(); }
  std::vector<int> take_lost() { return losses_.take_lost(); }
  bool is_silent(int unit) const { return losses_.is_stuck(unit); }
  // Whether buffers are set aside because a stuck unit may still use them.
  bool holds_lent() const { return !set_aside_.empty(); }

 private:
  // Buffers that stuck units may still use.
  struct SetAside {
    std::unique_ptr<LentBuffers> lent;
    std::vector<int> units;
  };

  std::unique_ptr<LentBuffers> make_lent();
  struct Early {
    bool usual = false, has_link = false;  // gets q early in the usual way; is behind a link
  };
  Early early_of(const AttentionLane& lane, const device::AttentionUnit& unit) const;
  AttentionLane& lane_for(const device::AttentionUnit& unit);
  // Whether units of this lane have rings. Where a ring is off, the engine's thread feeds the unit.
  bool has_rings(const AttentionLane& lane) const { return &lane == &rings_; }
  HostRows host_rows_of(const AttentionLane& lane) const;
  void add_to_lanes(AttentionLane& lane, int unit, device::AttentionUnit& device);
  void apply_way();
  device::Slice merge_partials(const AttentionLayout& layout, const SubBatchRows& rows);

  ComputeQueue& queue_;
  const ExecutorOptions& options_;
  const double projection_seconds_;
  const LayerWindows windows_;
  UnitLosses losses_;
  const LaneContext context_;

  ChunkAttention chunks_;
  std::unique_ptr<device::Buffer> attention_;  // [max_rows, q_heads, head_dim]: the merged results
  std::unique_ptr<LentBuffers> lent_;  // null after an abort() that set it aside, until begin()
  std::vector<SetAside> set_aside_;

  RingLane rings_;
  std::unique_ptr<HostLane> host_;  // or a StagedLane
  QueueLane queued_;
  const std::array<AttentionLane*, 3> lanes_;  // in the order in which launch() calls them
  std::vector<AttentionLane*> lane_of_;        // [units]
  std::vector<Early> early_;                   // [units]
  std::vector<bool> sends_early_;              // [units] in the running step
  std::optional<StepWay> way_;                 // empty: the usual one

  // The running step.
  LaneStep step_;
  std::array<const SubBatchRows*, kMaxSubBatches> sub_batches_{};
  std::vector<device::MergePartial> merge_partials_;
};

}  // namespace tandem::engine
