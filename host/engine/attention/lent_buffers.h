// SPDX-License-Identifier: Apache-2.0
//
// LentBuffers: all that attention units borrow while a step runs: q, k, v, their results, and the
// lists of the layouts.
//
// q, k, v and results are in the compute unit's memory. If that is not host memory, units outside
// its queue use copies in host memory, or a slot there if a ring feeds them (attention_ring.h). All
// is one object, so it can be kept as a whole when a unit times out and may still use it.
// Ownership: owns its buffers, which must not outlive the compute unit. Errors: those of
// allocate().
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "device/compute_unit.h"
#include "engine/attention/attention_layout.h"
#include "engine/steps/step_rows.h"
#include "model/model.h"

namespace tandem::engine {

// Allocates `rows` rows of `width` floats.
std::unique_ptr<device::Buffer> allocate_floats(device::ComputeUnit& compute, std::size_t rows,
                                                std::size_t width, device::MemoryKind kind);

// Row `index` of a buffer of such rows.
inline device::Slice row(const std::unique_ptr<device::Buffer>& buffer, std::size_t index,
                         std::size_t width) {
  return {buffer.get(), index * width * sizeof(float)};
}

struct PartialBuffers {
  std::unique_ptr<device::Buffer> o;    // [rows, q_heads, head_dim]
  std::unique_ptr<device::Buffer> lse;  // [rows, q_heads]
};

// [rows, q_heads | kv_heads | kv_heads, head_dim]
struct RowBuffers {
  std::unique_ptr<device::Buffer> q, k, v;
};

// The places for the projections of some rows: [rows, q_heads | kv_heads | kv_heads, head_dim].
struct Projections {
  device::Slice q, k, v;
};

// The host memory that a unit uses if the compute unit's rows are elsewhere.
enum class HostRows { kNone, kTwins, kSlot, kSlotAndTwins };

struct LentBuffers {
  LentBuffers(device::ComputeUnit& compute, const model::ModelConfig& config, std::size_t max_rows);
  // Adds the buffers of the next unit. Adds nothing if an allocation fails.
  void add_unit(device::ComputeUnit& compute, HostRows host_rows) {
    set_unit(partials.size(), compute, host_rows);
  }
  // Replaces the buffers of a unit, which are freed. Changes nothing if an allocation fails.
  void set_unit(std::size_t unit, device::ComputeUnit& compute, HostRows host_rows);
  // Adds a place without buffers, for a unit that was lost.
  void add_nothing();

  // The buffers for the share's results: ragged beginnings of windows have separate buffers.
  const PartialBuffers& partial_of(const UnitShare& share) const {
    return (share.ragged ? ragged : partials)[static_cast<std::size_t>(share.unit)];
  }
  const PartialBuffers& staged_partial_of(const UnitShare& share) const {
    return (share.ragged ? staged_ragged : staged_partials)[static_cast<std::size_t>(share.unit)];
  }

  // Floats per row of a slot: q, k, v, o, lse, and o, lse of ragged beginnings if there are any.
  std::size_t slot_width() const;

  RowBuffers rows, staged_rows;  // staged_rows has null buffers if no unit is staged
  // [units]. ragged is empty if no layer has a window. Null buffers: in all four for a lost unit,
  // in the staged ones for a unit that is not staged.
  std::vector<PartialBuffers> partials, ragged, staged_partials, staged_ragged;
  std::vector<std::unique_ptr<device::Buffer>> slots;  // [units]; null if the unit has none
  std::array<std::vector<AttentionLayout>, kMaxSubBatches> layouts;  // [sub-batches][windows]

 private:
  RowBuffers make_rows(device::ComputeUnit& compute, device::MemoryKind kind) const;
  PartialBuffers make_partial(device::ComputeUnit& compute, device::MemoryKind kind) const;

  const model::ModelConfig& config_;
  const std::size_t max_rows_;
};

}  // namespace tandem::engine
