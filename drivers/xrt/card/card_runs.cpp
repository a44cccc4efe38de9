// SPDX-License-Identifier: Apache-2.0
//
// A run that was started counts as running until it was seen completed.
#include "xrt/card/card_runs.h"

#include <algorithm>
#include <thread>

namespace tandem::device::xrt_card {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr auto kPoll = microseconds(50);
constexpr auto kPollStep = microseconds(50);
constexpr auto kLongestSleep = milliseconds(100);

// Queued or running: the command may still write to its buffers.
bool is_pending(ert_cmd_state state) {
  return state == ERT_CMD_STATE_NEW || state == ERT_CMD_STATE_QUEUED ||
         state == ERT_CMD_STATE_SUBMITTED || state == ERT_CMD_STATE_RUNNING;
}

}  // namespace

void CardRuns::start_run(std::size_t unit) {
  runs_[unit].run.start();
  runs_[unit].running = true;
}

CardRuns::Progress CardRuns::poll() {
  Progress progress = Progress::kDone;
  for (UnitRun& unit : runs_) {
    if (!unit.running) continue;
    const ert_cmd_state state = unit.run.state();
    if (state == ERT_CMD_STATE_COMPLETED) {
      unit.running = false;
    } else if (!is_pending(state)) {
      progress = Progress::kFailed;
    } else if (progress == Progress::kDone) {
      progress = Progress::kRunning;
    }
  }
  return progress;
}

bool CardRuns::any_running() const {
  return std::ranges::any_of(
      runs_, [](const UnitRun& unit) { return unit.running && is_pending(unit.run.state()); });
}

// Returns when a unit may have finished.
void CardRuns::sleep(milliseconds at_most) {
  for (const UnitRun& unit : runs_) {
    if (!unit.running) continue;
    unit.run.wait(at_most);
    return;
  }
}

CardRuns::Progress CardRuns::wait(Deadline deadline) {
  const auto poll_until = Clock::now() + kPoll;
  for (;;) {
    const Progress progress = poll();
    if (progress != Progress::kRunning || deadline.expired()) return progress;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline.remaining());
    if (Clock::now() < poll_until) {
      std::this_thread::yield();
    } else if (left > milliseconds(1)) {
      sleep(std::min(left - milliseconds(1), kLongestSleep));
    } else {
      std::this_thread::sleep_for(kPollStep);
    }
  }
}

}  // namespace tandem::device::xrt_card
