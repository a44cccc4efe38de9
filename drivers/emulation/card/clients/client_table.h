// SPDX-License-Identifier: Apache-2.0
//
// The areas of a card's clients, by slot. A client receives the number of its slot, which is its
// bit in UnitChannel::pending.
//
// find() shares ownership: an area outlives its client while a unit runs one of its commands.
// Threads: any (one mutex).
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>

#include "emulation/protocol/client_area.h"

namespace tandem::emulation {

class ClientTable {
 public:
  // Empty when all kMaxClients slots are taken.
  std::optional<uint32_t> insert(std::shared_ptr<ClientArea> area);
  // nullptr when the slot is free.
  std::shared_ptr<ClientArea> find(uint32_t slot) const;
  void remove(uint32_t slot);

 private:
  mutable std::mutex mutex_;
  std::array<std::shared_ptr<ClientArea>, kMaxClients> areas_;
};

}  // namespace tandem::emulation
