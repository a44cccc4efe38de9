// SPDX-License-Identifier: Apache-2.0
//
// Memory of the compute unit, sized once for the largest step.
#include "engine/attention/lent_buffers.h"

#include <algorithm>

namespace tandem::engine {

using device::MemoryKind;

std::unique_ptr<device::Buffer> allocate_floats(device::ComputeUnit& compute, std::size_t rows,
                                                std::size_t width, MemoryKind kind) {
  return compute.allocate(std::max<std::size_t>(rows * width, 1) * sizeof(float), kind);
}

LentBuffers::LentBuffers(device::ComputeUnit& compute, const model::ModelConfig& config,
                         std::size_t max_rows)
    : config_(config), max_rows_(max_rows) {
  rows = make_rows(compute, MemoryKind::kDevice);
}

RowBuffers LentBuffers::make_rows(device::ComputeUnit& compute, MemoryKind kind) const {
  const auto dim = static_cast<std::size_t>(config_.head_dim);
  const auto q_width = static_cast<std::size_t>(config_.q_heads) * dim;
  const auto kv_width = static_cast<std::size_t>(config_.kv_heads) * dim;
  return {allocate_floats(compute, max_rows_, q_width, kind),
          allocate_floats(compute, max_rows_, kv_width, kind),
          allocate_floats(compute, max_rows_, kv_width, kind)};
}

PartialBuffers LentBuffers::make_partial(device::ComputeUnit& compute, MemoryKind kind) const {
  const auto q_heads = static_cast<std::size_t>(config_.q_heads);
  const auto dim = static_cast<std::size_t>(config_.head_dim);
  return {allocate_floats(compute, max_rows_, q_heads * dim, kind),
          allocate_floats(compute, max_rows_, q_heads, kind)};
}

std::size_t LentBuffers::slot_width() const {
  const auto dim = static_cast<std::size_t>(config_.head_dim);
  const auto q_heads = static_cast<std::size_t>(config_.q_heads);
  const auto kv_width = static_cast<std::size_t>(config_.kv_heads) * dim;
  const std::size_t results = q_heads * dim + q_heads;
  return q_heads * dim + 2 * kv_width + (config_.windows.empty() ? 1 : 2) * results;
}

void LentBuffers::set_unit(std::size_t unit, device::ComputeUnit& compute, HostRows host_rows) {
  const bool is_staged = host_rows == HostRows::kTwins || host_rows == HostRows::kSlotAndTwins;
  if (is_staged && !staged_rows.q) staged_rows = make_rows(compute, MemoryKind::kHost);
  struct Pair {
    PartialBuffers here, staged;
  };
  const auto make = [&] {
    Pair pair{make_partial(compute, MemoryKind::kDevice), {}};
    if (is_staged) pair.staged = make_partial(compute, MemoryKind::kHost);
    return pair;
  };
  const std::size_t size = std::max(unit + 1, partials.size());
  for (auto* list : {&partials, &staged_partials, &ragged, &staged_ragged}) list->reserve(size);
  slots.reserve(size);
  std::unique_ptr<device::Buffer> slot;
  if (host_rows == HostRows::kSlot || host_rows == HostRows::kSlotAndTwins) {
    slot = allocate_floats(compute, max_rows_, slot_width(), MemoryKind::kHost);
  }
  Pair whole = make(), beginnings;
  if (!config_.windows.empty()) beginnings = make();
  // Nothing fails from here on.
  while (partials.size() < size) add_nothing();
  slots[unit] = std::move(slot);
  partials[unit] = std::move(whole.here);
  staged_partials[unit] = std::move(whole.staged);
  if (config_.windows.empty()) return;
  ragged[unit] = std::move(beginnings.here);
  staged_ragged[unit] = std::move(beginnings.staged);
}

void LentBuffers::add_nothing() {
  slots.emplace_back();
  for (auto* list : {&partials, &staged_partials}) list->emplace_back();
  if (config_.windows.empty()) return;
  for (auto* list : {&ragged, &staged_ragged}) list->emplace_back();
}

}  // namespace tandem::engine
