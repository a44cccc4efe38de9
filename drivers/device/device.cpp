// SPDX-License-Identifier: Apache-2.0
//
// What a device does that says nothing else: makes no aggregation unit, reaches others through host
// memory, and is as fast as it always was.
#include "device/device.h"

#include "common/error.h"

namespace tandem::device {

std::unique_ptr<AggregationUnit> Device::make_aggregation_unit() {
  throw Error("device",
              info().id + " makes no aggregation unit; choose cpu, or a device that does");
}

std::unique_ptr<PeerCopy> Device::make_peer_copy(std::span<ComputeUnit* const>) { return nullptr; }

std::unique_ptr<Reducer> Device::make_reducer(std::span<ComputeUnit* const>) { return nullptr; }

DeviceSpeed Device::speed_now() {
  return {info().memory_bandwidth_bytes_per_s, info().peak_ops_per_s};
}

}  // namespace tandem::device
