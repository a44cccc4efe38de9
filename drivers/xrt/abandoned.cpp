// SPDX-License-Identifier: Apache-2.0
//
// The list is never destroyed: at the end of the process XRT may already be gone.
#include "xrt/abandoned.h"

#include <mutex>
#include <new>
#include <utility>

namespace tandem::device::xrt_card {
namespace {

struct Abandoned {
  std::mutex mutex;
  std::vector<std::unique_ptr<CardBuffers>> all;
};

Abandoned& abandoned() {
  static Abandoned& list = *new Abandoned;
  return list;
}

bool is_still(const CardBuffers& buffers) {
  for (const auto& launch : buffers.launches) {
    if (launch->poll() == Launch::Progress::kRunning) return false;
  }
  return true;
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

void reclaim_abandoned() noexcept {
  try {
    const std::scoped_lock lock(abandoned().mutex);
    std::erase_if(abandoned().all, [](const auto& buffers) { return is_still(*buffers); });
  } catch (...) {  // a card that no longer answers even this keeps its buffers
  }
}

}  // namespace tandem::device::xrt_card
