// SPDX-License-Identifier: Apache-2.0
//
// The list is never destroyed, because XRT may be unloaded before the process ends.
#include "xrt/card/abandoned.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "common/deadline.h"

namespace tandem::device::xrt_card {
namespace {

constexpr std::chrono::milliseconds kDrainTimeout{1000};
constexpr std::chrono::microseconds kStep{50};

struct Abandoned {
  std::mutex mutex;
  std::vector<std::unique_ptr<CardBuffers>> all;
};

Abandoned& abandoned() {
  static Abandoned& list = *new Abandoned;
  return list;
}

bool is_idle(const CardBuffers& buffers) {
  return std::ranges::none_of(buffers.launches,
                              [](const auto& launch) { return launch->any_running(); });
}

}  // namespace

void abandon(CardBuffers buffers) noexcept {
  auto* kept = new (std::nothrow) CardBuffers(std::move(buffers));
  if (kept == nullptr) return;
  try {
    const std::scoped_lock lock(abandoned().mutex);
    abandoned().all.emplace_back(kept);
  } catch (...) {  // leaked
  }
}

DrainedBuffers::~DrainedBuffers() {
  try {
    const Deadline deadline = Deadline::after(kDrainTimeout);
    while (!is_idle(*this)) {
      if (deadline.expired()) {
        abandon(std::move(*this));
        return;
      }
      std::this_thread::sleep_for(kStep);
    }
  } catch (...) {  // a card that gives no state may still be writing
    abandon(std::move(*this));
  }
}

void reclaim_abandoned() noexcept {
  try {
    const std::scoped_lock lock(abandoned().mutex);
    std::erase_if(abandoned().all, [](const auto& buffers) { return is_idle(*buffers); });
  } catch (...) {  // a card that gives no state keeps its buffers
  }
}

}  // namespace tandem::device::xrt_card
