// SPDX-License-Identifier: Apache-2.0
//
// Device ids, and the defaults of a device: no aggregation, selection or table unit, copies through
// host memory, a constant speed.
#include "device/device.h"

#include "common/error.h"
#include "device/gradient_memory.h"
#include "device/selection_unit.h"
#include "device/sparse_unit.h"
#include "device/table_unit.h"

namespace tandem::device {

std::string full_id(std::string_view id) {
  std::string full;
  while (true) {
    const std::size_t end = id.find('+');
    const std::string_view one = id.substr(0, end);
    full += one;
    if (one.find(':') == std::string_view::npos) full += ":0";
    if (end == std::string_view::npos) return full;
    full += '+';
    id.remove_prefix(end + 1);
  }
}

std::unique_ptr<AggregationUnit> Device::make_aggregation_unit() {
  throw Error("device",
              info().id + " makes no aggregation unit; choose cpu, or a device that does");
}

std::unique_ptr<SelectionUnit> Device::make_selection_unit(const SelectionShape&) {
  throw Error("device", info().id + " makes no selection unit; choose cpu, or a device that does");
}

std::unique_ptr<GradientMemory> Device::make_gradient_memory() {
  throw Error("device", info().id + " cannot hold gradients; choose cpu, or a device that can");
}

std::unique_ptr<TableUnit> Device::make_table_unit() {
  throw Error("device", info().id + " keeps no embedding tables; choose a card, or host memory");
}

std::unique_ptr<SparseUnit> make_sparse_unit(Device& device) {
  if (auto* maker = dynamic_cast<SparseDevice*>(&device)) return maker->make_sparse_unit();
  throw Error("device",
              device.info().id + " multiplies no sparse matrices; use cpu, a GPU, or a card");
}

std::unique_ptr<PeerCopy> Device::make_peer_copy(std::span<ComputeUnit* const>) { return nullptr; }

std::unique_ptr<Reducer> Device::make_reducer(std::span<ComputeUnit* const>) { return nullptr; }

DeviceSpeed Device::speed_now() {
  return {info().memory_bandwidth_bytes_per_s, info().peak_ops_per_s};
}

}  // namespace tandem::device
