// SPDX-License-Identifier: Apache-2.0
//
// Interrupts: the interrupts of compute units, for xrt::ip. A unit that becomes idle raises one if
// its registers 0x4 and 0x8 enable it.
//
// Errors: std::system_error; if a card fails, every wait ends with it. Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "emulation/xrt_shim/card/card.h"

namespace tandem::emulation {

class Interrupts {
 public:
  static Interrupts& instance();

  // Opens a notification for later interrupts of the unit and returns its id. It is enabled.
  int open(std::shared_ptr<Card> card, uint32_t unit);
  void close(int id);
  void enable(int id);
  // Interrupts during the disabled time are dropped.
  void disable(int id);
  // Returns false after `timeout`; negative: no limit.
  bool wait(int id, std::chrono::milliseconds timeout);

 private:
  struct Notification {
    std::shared_ptr<Card> card;
    uint32_t unit = 0;
    uint32_t seen = 0;  // interrupts of the unit that the program has received
    bool enabled = true;
  };

  static uint32_t count(const Notification& notification);
  bool take(int id, std::shared_ptr<Card>& card);
  Notification& find(int id);

  std::mutex mutex_;
  std::map<int, Notification> notifications_;
  int next_id_ = 1;
};

}  // namespace tandem::emulation
