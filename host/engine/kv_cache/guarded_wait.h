// SPDX-License-Identifier: Apache-2.0
//
// guarded_wait: a call of an attention unit that answers with a WaitResult, where a DeviceError
// means what kLost does: the unit went with its device.
//
// Other errors pass through. Threads: that of the call, the engine's or a ring's.
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
