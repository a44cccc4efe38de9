// SPDX-License-Identifier: Apache-2.0
//
// ParallelDevice: makes units of all devices and combines them.
#include "parallel/device.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/error.h"
#include "parallel/backend.h"
#include "parallel/layer_split_attention.h"
#include "parallel/layer_split_unit.h"
#include "parallel/tensor_split_attention.h"
#include "parallel/tensor_split_unit.h"

namespace tandem::device::parallel {
namespace {

// The memory of a compute unit that is not divided: embedding, output projection, activations.
constexpr double kUndivided = 0.25;

LayerRanges ranges_for(std::size_t num_devices, const ParallelOptions& options) {
  if (options.split == Split::kTensor) {
    const int all = std::max(options.num_layers, 1);  // every device has a part of each layer
    return LayerRanges({&all, 1});
  }
  if (options.layers_per_device.empty()) {
    return LayerRanges::by_weight(options.num_layers, std::vector<double>(num_devices, 1.0));
  }
  LayerRanges ranges(options.layers_per_device);
  if (options.layers_per_device.size() != num_devices ||
      ranges.num_layers() != options.num_layers) {
    throw Error("parallel", "shares of " + std::to_string(ranges.num_layers()) + " layers for " +
                                std::to_string(options.layers_per_device.size()) +
                                " devices do not fit " + std::to_string(options.num_layers) +
                                " layers on " + std::to_string(num_devices));
  }
  return ranges;
}

bool are_of_one_kind(std::span<const std::unique_ptr<Device>> devices) {
  return std::ranges::all_of(devices, [&](const auto& device) {
    return device->info().kind == devices.front()->info().kind;
  });
}

// All units see the pinned memory of a device behind a link; such a device sees no other.
int host_unit_of(std::span<const std::unique_ptr<Device>> devices) {
  const auto found = std::ranges::find_if(
      devices, [](const auto& device) { return device->info().link_bandwidth_bytes_per_s > 0; });
  return found == devices.end() ? 0 : static_cast<int>(found - devices.begin());
}

DeviceInfo info_of(std::span<const std::unique_ptr<Device>> devices, Split split) {
  DeviceInfo sum = devices.front()->info();
  const bool is_one_kind = are_of_one_kind(devices);
  if (is_one_kind) sum.name = std::to_string(devices.size()) + " x " + sum.name;
  for (const auto& device : devices.subspan(1)) {
    const DeviceInfo& info = device->info();
    sum.id += "+" + info.id;
    if (!is_one_kind) sum.name += " + " + info.name;
    sum.memory_bytes += info.memory_bytes;
    sum.attends_windows &= info.attends_windows;
    sum.attends_softcap &= info.attends_softcap;
    sum.makes_attention &= info.makes_attention;
    if (sum.link_bandwidth_bytes_per_s == 0 && info.link_bandwidth_bytes_per_s > 0) {
      sum.kind = info.kind;
      sum.link_bandwidth_bytes_per_s = info.link_bandwidth_bytes_per_s;
    }
    sum.link_latency_us = std::max(sum.link_latency_us, info.link_latency_us);
    if (split == Split::kLayers) continue;  // they work in turn
    sum.memory_bandwidth_bytes_per_s += info.memory_bandwidth_bytes_per_s;
    sum.link_bandwidth_bytes_per_s += info.link_bandwidth_bytes_per_s;
    sum.peak_ops_per_s.f32 += info.peak_ops_per_s.f32;
    sum.peak_ops_per_s.bf16 += info.peak_ops_per_s.bf16;
    sum.peak_ops_per_s.int8 += info.peak_ops_per_s.int8;
  }
  sum.makes_aggregation = false;
  return sum;
}

}  // namespace

ParallelDevice::ParallelDevice(std::vector<std::unique_ptr<Device>> devices,
                               const ParallelOptions& options)
    : devices_(std::move(devices)),
      split_(options.split),
      layers_(ranges_for(devices_.size(), options)) {
  if (devices_.empty()) throw Error("parallel", "there are no devices to divide work among");
}

// Parts may have to measure their speed for it.
const DeviceInfo& ParallelDevice::info() const {
  if (info_.id.empty()) info_ = info_of(devices_, split_);
  return info_;
}

std::unique_ptr<ComputeUnit> ParallelDevice::make_compute_unit() {
  std::vector<std::unique_ptr<ComputeUnit>> units;
  std::vector<ComputeUnit*> borrowed;
  for (const auto& device : devices_) {
    units.push_back(device->make_compute_unit());
    borrowed.push_back(units.back().get());
  }
  Device& first = *devices_.front();
  book_ = std::make_shared<AddressBook>();
  std::unique_ptr<PeerCopy> peers;  // null, through host memory, for devices of several kinds
  if (are_of_one_kind(devices_)) peers = first.make_peer_copy(borrowed);
  if (split_ == Split::kLayers) {
    return std::make_unique<LayerSplitUnit>(std::move(units), std::move(peers), layers_, book_,
                                            host_unit_of(devices_));
  }
  std::unique_ptr<Reducer> reducer = first.make_reducer(borrowed);
  return std::make_unique<TensorSplitUnit>(std::move(units), std::move(peers), std::move(reducer),
                                           book_);
}

std::unique_ptr<AttentionUnit> ParallelDevice::make_part(std::size_t index,
                                                         const AttentionUnitOptions& options,
                                                         std::uint32_t max_pages) {
  const auto unit = static_cast<int>(index), num = static_cast<int>(devices_.size());
  const PageSlice slice = split_ == Split::kLayers ? layer_slice(options.geometry, layers_, unit)
                                                   : head_slice(options.geometry, unit, num);
  AttentionUnitOptions local = options;
  local.geometry = slice_geometry(options.geometry, slice);
  local.max_pages = max_pages;
  const double share = static_cast<double>(page_image_bytes(local.geometry)) /
                       static_cast<double>(page_image_bytes(options.geometry));
  local.kv_bytes = static_cast<std::uint64_t>(static_cast<double>(options.kv_bytes) * share);
  local.kept_bytes = static_cast<std::uint64_t>(static_cast<double>(options.kept_bytes) *
                                                std::min(1.0, share + kUndivided));
  return devices_[index]->make_attention_unit(local);
}

std::unique_ptr<AttentionUnit> ParallelDevice::make_attention_unit(
    const AttentionUnitOptions& options) {
  if (split_ == Split::kLayers && options.geometry.num_layers != layers_.num_layers()) {
    throw Error("parallel", std::to_string(layers_.num_layers()) +
                                " layers are divided, but KV is requested for " +
                                std::to_string(options.geometry.num_layers));
  }
  check_geometry(options.geometry);
  std::vector<std::unique_ptr<AttentionUnit>> units;
  std::uint32_t pages = UINT32_MAX;
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    units.push_back(make_part(index, options, options.max_pages));
    pages = std::min(pages, units.back()->capacity().num_pages);
  }
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    if (units[index]->capacity().num_pages == pages) continue;
    units[index].reset();  // its memory first
    units[index] = make_part(index, options, pages);
  }
  if (split_ == Split::kLayers) {
    return std::make_unique<LayerSplitAttention>(options.geometry, layers_, std::move(units),
                                                 book_);
  }
  return std::make_unique<TensorSplitAttention>(options.geometry, std::move(units), book_);
}

}  // namespace tandem::device::parallel

namespace tandem::device {

std::unique_ptr<Device> group_devices(std::vector<std::unique_ptr<Device>> devices,
                                      const GroupOptions& options) {
  return std::make_unique<parallel::ParallelDevice>(std::move(devices), options);
}

}  // namespace tandem::device
