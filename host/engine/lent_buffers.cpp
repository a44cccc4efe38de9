// SPDX-License-Identifier: Apache-2.0
//
// LentBuffers: host memory of the compute unit, sized once for the largest step.
#include "engine/lent_buffers.h"

#include <algorithm>

namespace tandem::engine {

using device::MemoryKind;

std::unique_ptr<device::Buffer> allocate_floats(device::ComputeUnit& compute, std::size_t rows,
                                                std::size_t width, MemoryKind kind) {
  return compute.allocate(std::max<std::size_t>(rows * width, 1) * sizeof(float), kind);
}

LentBuffers::LentBuffers(device::ComputeUnit& compute, const model::ModelConfig& config,
                         std::size_t rows) {
  const auto dim = static_cast<std::size_t>(config.head_dim);
  const auto q_heads = static_cast<std::size_t>(config.q_heads);
  const auto kv_heads = static_cast<std::size_t>(config.kv_heads);
  q = allocate_floats(compute, rows, q_heads * dim, MemoryKind::kHost);
  k = allocate_floats(compute, rows, kv_heads * dim, MemoryKind::kHost);
  v = allocate_floats(compute, rows, kv_heads * dim, MemoryKind::kHost);
}

void LentBuffers::add_partial(device::ComputeUnit& compute, const model::ModelConfig& config,
                              std::size_t rows) {
  const auto q_heads = static_cast<std::size_t>(config.q_heads);
  const auto dim = static_cast<std::size_t>(config.head_dim);
  for (auto* list : {&partials, &ragged}) {
    if (list == &ragged && config.windows.empty()) continue;
    list->push_back({allocate_floats(compute, rows, q_heads * dim, MemoryKind::kHost),
                     allocate_floats(compute, rows, q_heads, MemoryKind::kHost)});
  }
}

}  // namespace tandem::engine
