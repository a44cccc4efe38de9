// SPDX-License-Identifier: Apache-2.0
//
// Interrupts of compute units, for xrt::ip. A unit that becomes idle raises one if its registers
// 0x4 and 0x8 enable it.
//
// Errors: std::system_error; a card that fails ends every wait with one. Threads: any.
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

  // Opens a notification of the unit's later interrupts and returns its id. The notification is
  // enabled.
  int open(std::shared_ptr<Card> card, uint32_t unit);
  void close(int id);
  void enable(int id);
  // Interrupts that come while it is disabled are dropped.
  void disable(int id);
  // False after `timeout`; negative: waits for ever.
  bool wait(int id, std::chrono::milliseconds timeout);

 private:
  struct Notification {
    std::shared_ptr<Card> card;
    uint32_t unit = 0;
    uint32_t seen = 0;  // interrupts of the unit that the program has taken
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
