// SPDX-License-Identifier: Apache-2.0
//
// GradientDevices: the devices with gradients in their memory. A device is opened when its first
// gradient arrives.
//
// Ownership: results of memory() are valid as long as this object; a residence must not outlive it.
// Threads: the reducer's own. Errors: Error with advice if the build does not support gradients on
// this device, or if the device cannot be opened.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/sparsifier/sparsifier.h"
#include "device/device.h"
#include "training/reducer/options.h"

namespace tandem::training {

class GradientDevices {
 public:
  // `open` may be empty: gradients are in host memory only.
  explicit GradientDevices(OpenDevice open) : open_(std::move(open)) {}

  // id: "cuda:0"
  device::GradientMemory& memory(const std::string& id) { return *place(id).memory; }
  // Memory on the device for a residual of this shape.
  collectives::DeviceResidence residence(const std::string& id,
                                         const device::SelectionShape& shape);

 private:
  struct Place {
    std::unique_ptr<device::Device> device;
    std::shared_ptr<device::GradientMemory> memory;
  };
  Place& place(const std::string& id);

  const OpenDevice open_;
  std::map<std::string, Place> places_;
};

}  // namespace tandem::training
