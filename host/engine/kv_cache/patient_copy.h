// SPDX-License-Identifier: Apache-2.0
//
// patient_copy: copies a page between steps, and detects a dead unit early. Every stream waits
// meanwhile, so a dead unit is detected after kPatience and a health check
// (AttentionUnit::is_alive), not only after the device timeout.
//
// Errors: as guarded_wait. If a health check throws Error, the unit counts as alive. Threads: that
// of the call.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/clock.h"
#include "common/deadline.h"
#include "common/error.h"
#include "engine/kv_cache/guarded_wait.h"

namespace tandem::engine {

// A page takes milliseconds. One that takes this long is not worth its move.
constexpr std::chrono::milliseconds kPatience{400};

inline bool counts_as_alive(device::AttentionUnit& unit) {
  try {
    return unit.is_alive();
  } catch (const DeviceError&) {
    return false;
  } catch (const Error&) {
    return true;
  }
}

// `call`: a copy, with its deadline. After kPatience the health check runs. A dead unit gives
// kLost. For a live unit the copy is tried again with twice the time, until `most` has passed.
template <typename Call>
device::WaitResult patient_copy(device::AttentionUnit& unit, const tandem::Clock& clock,
                                std::chrono::milliseconds most, const Call& call) {
  return guarded_wait([&] {
    const Deadline last = Deadline::after(most, clock);
    for (tandem::Clock::Duration patience = kPatience;; patience *= 2) {
      const device::WaitResult result =
          call(Deadline::after(std::min(patience, last.remaining()), clock));
      if (result != device::WaitResult::kTimeout) return result;
      if (!counts_as_alive(unit)) return device::WaitResult::kLost;
      if (last.expired()) return result;
    }
  });
}

}  // namespace tandem::engine
