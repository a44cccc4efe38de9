// SPDX-License-Identifier: Apache-2.0
//
// WatchArea: the memory by which another program of the same user asks a card how it is
// (`tandem card watch`).
//
// It is an anonymous file of the card, named kWatchAreaName, which the watcher opens through
// /proc/<card>/fd. The watcher increments `asked` and wakes the card; the card writes a JSON text
// and sets `answered` to the number that it saw. A card that is stopped does not answer. `writing`
// is odd while the text changes, and changes with it. Watchers share the area and all get the
// newest text. Header only, since the watcher is no part of the emulation.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

namespace tandem::emulation {

constexpr const char* kWatchAreaName = "tandem-watch";
constexpr uint32_t kWatchVersion = 1;
constexpr size_t kWatchTextBytes = size_t{1} << 20;

struct WatchArea {
  std::atomic<uint32_t> version{0};  // kWatchVersion once the card may be asked
  std::atomic<uint32_t> asked{0};    // futex word of the card's thread
  std::atomic<uint32_t> answered{0};
  std::atomic<uint32_t> writing{0};
  std::atomic<uint32_t> text_bytes{0};
  char text[kWatchTextBytes];
};

// Asks the card; its answer has come when `answered` - the result >= 0 as a signed number.
inline uint32_t ask_card(WatchArea& area) {
  const uint32_t number = area.asked.fetch_add(1) + 1;
  syscall(SYS_futex, &area.asked, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return number;
}

}  // namespace tandem::emulation
