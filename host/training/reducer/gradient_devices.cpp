// SPDX-License-Identifier: Apache-2.0
//
// A device is kept only after it has made its memory.
#include "training/reducer/gradient_devices.h"

#include "common/error.h"
#include "device/gradient_memory.h"

namespace tandem::training {

GradientDevices::Place& GradientDevices::place(const std::string& id) {
  const auto found = places_.find(id);
  if (found != places_.end()) return found->second;
  if (!open_) {
    throw Error("training", "gradients on " + id +
                                " cannot be reduced there: this reducer has no devices; copy them "
                                "to host memory, or give it the option open_device");
  }
  Place place;
  try {
    place.device = open_(id);
    place.memory = place.device->make_gradient_memory();
  } catch (const Error& error) {
    throw Error("training", "gradients on " + id + " cannot be reduced there: " + error.what() +
                                "; or copy them to host memory");
  }
  return places_[id] = std::move(place);
}

collectives::DeviceResidence GradientDevices::residence(const std::string& id,
                                                        const device::SelectionShape& shape) {
  Place& there = place(id);
  return {there.device->make_selection_unit(shape), there.memory};
}

}  // namespace tandem::training
