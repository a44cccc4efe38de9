// SPDX-License-Identifier: Apache-2.0
//
// The compute devices of a runtime: one, or several as one, and the bytes that they need.
#include <algorithm>

#include "apps/compute_choice.h"
#include "apps/compute_split.h"
#include "apps/memory_plan.h"
#include "apps/runtime.h"

namespace tandem::apps {

// Several devices, or the one of them that a plan has chosen.
bool Assembly::names_compute(const std::string& id) const {
  const std::vector<std::string> group = compute_ids(options_.compute);
  if (group.size() < 2) return false;
  const bool is_open = group_ && device::full_id(group_->info().id) == device::full_id(id);
  return is_open || id == options_.compute || names_group(group, id);
}

std::unique_ptr<device::Device> Assembly::open_computing() const {
  const std::vector<ComputeDevice> devices = compute_devices(options_.compute);
  if (options_.split != "auto") {
    return open_compute_group(ids_of(devices), options_.split, *config_, device_options_);
  }
  SplitNeeds needs;
  needs.quantize = options_.quantize;
  needs.activation_bytes = activation_bytes();
  // Without a size there is room for the longest sequence at least.
  const std::uint64_t longest =
      max_pages() / static_cast<std::uint64_t>(options_.max_running) * kv_page_bytes(geometry());
  const std::uint64_t kv = options_.kv_bytes > 0 ? options_.kv_bytes : longest;
  needs.kv_layer_bytes = kv / static_cast<std::uint64_t>(std::max(config_->num_layers, 1));
  return open_planned(devices, *config_, needs, device_options_);
}

device::Device& Assembly::device(const std::string& id) {
  if (names_compute(id)) {
    if (!group_) group_ = open_computing();
    return *group_;
  }
  const std::lock_guard lock(devices_mutex_);
  for (const auto& open : devices_) {
    if (device::full_id(open->info().id) == device::full_id(id)) return *open;
  }
  devices_.push_back(device::open_device(id, device_options_));
  return *devices_.back();
}

// An upper bound: it ignores what quantising saves and that some families need fewer buffers.
std::uint64_t Assembly::compute_bytes(std::size_t num_devices) const {
  const model::ModelConfig& config = *config_;
  const auto wide = static_cast<std::uint64_t>(config.parameters) * sizeof(float);
  const auto stored = static_cast<std::uint64_t>(config.weight_bytes);
  const std::uint64_t all = options_.quantize == "f32" ? std::max(stored, wide) : stored;
  // The largest share of one device: whole layers, or a part of each.
  const auto layers = static_cast<std::uint64_t>(std::max(config.num_layers, 1));
  const std::uint64_t weights = all / layers * ((layers + num_devices - 1) / num_devices);
  // Units pack weights in their own order (at most a 16th more), and may keep a table twice.
  const std::uint64_t table =
      static_cast<std::uint64_t>(config.vocab_size) * static_cast<std::uint64_t>(config.width);
  return weights + weights / 16 + 2 * table + activation_bytes();
}

std::uint64_t Assembly::planned_bytes(const std::string& id) const {
  return most_planned_bytes(compute_devices(options_.compute), id, compute_bytes(1));
}

std::uint64_t Assembly::activation_bytes() const {
  const model::ModelConfig& config = *config_;
  const auto q_width = static_cast<std::uint64_t>(config.q_heads) * config.head_dim;
  const auto kv_width = static_cast<std::uint64_t>(config.kv_heads) * config.head_dim;
  // Residual, product and normed rows; the gated pair; q, k, v; results, merged and partial.
  constexpr std::uint64_t kWidths = 3, kResults = 4;
  const std::uint64_t row = kWidths * static_cast<std::uint64_t>(config.width) +
                            2 * static_cast<std::uint64_t>(config.ffn_width) + q_width +
                            2 * kv_width + kResults * (q_width + config.q_heads);
  const auto rows = static_cast<std::uint64_t>(options_.max_step_tokens);
  const std::uint64_t logits = std::min<std::uint64_t>(rows, engine::kMaxLogitRows) *
                               static_cast<std::uint64_t>(config.vocab_size);
  const std::uint64_t draft = draft_ ? draft_->bytes() : 0;
  return (2 * rows * row + logits) * sizeof(float) + draft;  // rows are copied on the way to others
}

}  // namespace tandem::apps
