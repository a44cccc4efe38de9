// SPDX-License-Identifier: Apache-2.0
//
// OpenClDevice: one CPU or GPU as its OpenCL driver shows it; makes attention units.
//
// Opening measures the memory and the link (about 0.1 s, see bandwidth.h); units share the context
// and have a queue each. Threads and errors: as device.h of the contract says.
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
