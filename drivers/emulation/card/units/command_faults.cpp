// SPDX-License-Identifier: Apache-2.0
//
// The waits poll: they are rare, and their end has several causes without a common bell.
#include "emulation/card/units/command_faults.h"

#include <chrono>
#include <thread>

namespace tandem::emulation {
namespace {

constexpr std::chrono::microseconds kFaultPoll{500};

}  // namespace

bool CommandFaults::wait_while(const std::function<bool()>& condition) const {
  while (condition()) {
    if (given_up_()) return false;
    std::this_thread::sleep_for(kFaultPoll);
  }
  return true;
}

bool CommandFaults::before_kernel() const {
  if (fault_.is(CommandFaultKind::kError)) return false;
  if (fault_.is(CommandFaultKind::kNever)) return wait_while([] { return true; });
  return wait_while([this] { return state_.hung.load() != 0; });
}

bool CommandFaults::after_kernel() const {
  if (fault_.is(CommandFaultKind::kUnannounced)) return wait_while([] { return true; });
  if (fault_.is(CommandFaultKind::kLate)) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(fault_.late_us);
    if (!wait_while([end] { return std::chrono::steady_clock::now() < end; })) return false;
  }
  return wait_while([this] { return state_.hung.load() != 0; });
}

}  // namespace tandem::emulation
