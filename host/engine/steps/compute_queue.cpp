// SPDX-License-Identifier: Apache-2.0
//
// Submits operations, waits for them, and records their spans and times.
#include "engine/steps/compute_queue.h"

#include <chrono>

#include "common/error.h"

namespace tandem::engine {
namespace {

// A dense stage that takes longer than this has hung.
constexpr auto kTimeout = std::chrono::minutes(10);

}  // namespace

void ComputeQueue::wait(device::Ticket ticket) {
  const trace::Span span = trace_.wait_for_compute();
  const device::WaitResult result = unit_.wait(ticket, Deadline::after(kTimeout));
  if (result == device::WaitResult::kLost) {
    throw DeviceError("executor", "the compute unit is lost");
  }
  if (result != device::WaitResult::kDone) {
    throw DeviceError("executor", "the compute unit did not finish a layer within 10 minutes");
  }
}

}  // namespace tandem::engine
