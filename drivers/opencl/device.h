// SPDX-License-Identifier: Apache-2.0
//
// OpenClDevice: a CPU or GPU of an OpenCL driver; makes attention units.
//
// The constructor measures memory and link (about 0.1 s, see bandwidth.h). Units share the context;
// each has its own queue. Threads and errors: as device/device.h says.
#pragma once

#include <memory>

#include "device/device.h"
#include "opencl/bandwidth.h"
#include "opencl/session.h"

namespace tandem::opencl {

class OpenClDevice final : public device::Device {
 public:
  OpenClDevice(const cl::Device& device, int index);

  const device::DeviceInfo& info() const override { return info_; }
  std::unique_ptr<device::ComputeUnit> make_compute_unit() override;
  std::unique_ptr<device::AttentionUnit> make_attention_unit(
      const device::AttentionUnitOptions& options) override;

 private:
  Session session_;
  MeasuredSpeed speed_;
  device::DeviceInfo info_;
};

}  // namespace tandem::opencl
