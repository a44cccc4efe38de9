// SPDX-License-Identifier: Apache-2.0
//
// LentBuffers: all that attention units borrow while a step runs: q, k, v, their results, and the
// lists of the layouts.
//
// One object, so that it can be set aside whole when a unit times out and may still use it.
// Ownership: owns its buffers, which must not outlive the compute unit. Errors: those of
// allocate().
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "device/compute_unit.h"
#include "engine/attention_layout.h"
#include "engine/step_rows.h"
#include "model/model.h"

namespace tandem::engine {

// `rows` rows of `width` floats.
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

struct LentBuffers {
  LentBuffers(device::ComputeUnit& compute, const model::ModelConfig& config, std::size_t rows);
  void add_partial(device::ComputeUnit& compute, const model::ModelConfig& config,
                   std::size_t rows);

  // Of a share: a unit's ragged beginnings of windows have buffers of their own.
  const PartialBuffers& partial_of(const UnitShare& share) const {
    return (share.ragged ? ragged : partials)[static_cast<std::size_t>(share.unit)];
  }

  std::unique_ptr<device::Buffer> q, k, v;  // [rows, q_heads | kv_heads | kv_heads, head_dim]
  std::vector<PartialBuffers> partials;     // [units]
  std::vector<PartialBuffers> ragged;       // [units], empty where no layer has a window
  std::array<std::vector<AttentionLayout>, kMaxSubBatches> layouts;  // by window
};

}  // namespace tandem::engine
