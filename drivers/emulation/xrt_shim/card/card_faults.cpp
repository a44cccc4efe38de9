// SPDX-License-Identifier: Apache-2.0
//
// The operations of a card that fault scripts use.
#include <chrono>
#include <thread>

#include "emulation/xrt_shim/card/card.h"

namespace tandem::emulation {

std::shared_ptr<Card> Card::find_open(uint32_t index) {
  std::lock_guard lock(open_cards().mutex);
  const auto found = open_cards().by_index.find(index);
  auto card = found == open_cards().by_index.end() ? nullptr : found->second.lock();
  return card != nullptr && card->owned_here() ? card : nullptr;
}

std::map<uint64_t, uint64_t> Card::held_memory() const {
  std::lock_guard lock(held_mutex_);
  return held_;
}

void Card::end_by_fault(bool is_reset) {
  constexpr std::chrono::seconds kEndTimeout{10};
  if (is_reset) was_reset_.store(true);
  process_->end();
  const auto limit = std::chrono::steady_clock::now() + kEndTimeout;
  while (!failed() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tandem::emulation
