// SPDX-License-Identifier: Apache-2.0
//
// Opens a device and makes its units.
#include "opencl/device.h"

#include "common/error.h"
#include "opencl/attention_unit.h"

namespace tandem::opencl {

OpenClDevice::OpenClDevice(const cl::Device& device, int index)
    : session_(open_session(device)),
      speed_(measure_speed(session_)),
      info_(describe(device, index)) {
  info_.memory_bandwidth_bytes_per_s = speed_.read_bytes_per_s;
  info_.link_bandwidth_bytes_per_s = speed_.link_bytes_per_s;
  info_.link_latency_us = speed_.latency_us;
}

std::unique_ptr<device::ComputeUnit> OpenClDevice::make_compute_unit() {
  throw Error("opencl", info_.id + " makes no compute unit; use --compute cpu");
}

std::unique_ptr<device::AttentionUnit> OpenClDevice::make_attention_unit(
    const device::AttentionUnitOptions& options) {
  try {
    Session session = session_;
    session.queue = cl::CommandQueue(session_.context, session_.device);
    return std::make_unique<OpenClAttentionUnit>(session, options,
                                                 kernel_shape_for(session_.device), speed_);
  } catch (const cl::Error& error) {
    throw DeviceError("opencl", "making an attention unit: " + error_text(error));
  }
}

}  // namespace tandem::opencl
