// SPDX-License-Identifier: Apache-2.0
//
// guarded_wait: calls an attention unit and takes a DeviceError for kLost, because the unit is lost
// with its device.
//
// Other errors pass through. Threads: that of the call.
#pragma once

#include "common/error.h"
#include "device/attention_unit.h"

namespace tandem::engine {

template <typename Call>
device::WaitResult guarded_wait(const Call& call) {
  try {
    return call();
  } catch (const DeviceError&) {
    return device::WaitResult::kLost;
  }
}

}  // namespace tandem::engine
