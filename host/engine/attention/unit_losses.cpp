// SPDX-License-Identifier: Apache-2.0
//
// Turns the result of a wait into a loss, a stuck unit or a refused batch.
#include "engine/attention/unit_losses.h"

#include <algorithm>

#include "common/error.h"
#include "engine/kv_cache/guarded_wait.h"

namespace tandem::engine {

void UnitLosses::lose(int unit) {
  Unit& lost = units_[static_cast<std::size_t>(unit)];
  if (lost.alive) lost_.push_back(unit);
  lost.alive = false;
  if (lost.stuck && std::ranges::find(stuck_, unit) == stuck_.end()) stuck_.push_back(unit);
}

void UnitLosses::lose(int unit, device::WaitResult result) {
  units_[static_cast<std::size_t>(unit)].stuck = result == device::WaitResult::kTimeout;
  lose(unit);
}

device::WaitResult UnitLosses::wait(device::AttentionUnit& unit, device::Ticket ticket,
                                    Deadline deadline) {
  try {
    return guarded_wait([&] { return unit.wait(ticket, deadline); });
  } catch (const Error&) {
    refused_ = std::current_exception();
    return device::WaitResult::kDone;
  }
}

void UnitLosses::throw_refused() {
  if (refused_) std::rethrow_exception(std::exchange(refused_, nullptr));
}

}  // namespace tandem::engine
