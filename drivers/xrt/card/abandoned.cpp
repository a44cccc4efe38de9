// SPDX-License-Identifier: Apache-2.0
//
// The list is never destroyed: at the end of the process XRT may already be gone.
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

constexpr std::chrono::milliseconds kFarewell{1000};
constexpr std::chrono::microseconds kStep{50};

struct Abandoned {
  std::mutex mutex;
  std::vector<std::unique_ptr<CardBuffers>> all;
};

Abandoned& abandoned() {
  static Abandoned& list = *new Abandoned;
  return list;
}

bool is_still(const CardBuffers& buffers) {
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

SettledBuffers::~SettledBuffers() {
  try {
    const Deadline farewell = Deadline::after(kFarewell);
    while (!is_still(*this)) {
      if (farewell.expired()) {
        abandon(std::move(*this));
        return;
      }
      std::this_thread::sleep_for(kStep);
    }
  } catch (...) {  // a card that does not even tell may still be writing
    abandon(std::move(*this));
  }
}

void reclaim_abandoned() noexcept {
  try {
    const std::scoped_lock lock(abandoned().mutex);
    std::erase_if(abandoned().all, [](const auto& buffers) { return is_still(*buffers); });
  } catch (...) {  // a card that no longer answers even this keeps its buffers
  }
}

}  // namespace tandem::device::xrt_card
