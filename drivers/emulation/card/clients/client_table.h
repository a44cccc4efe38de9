// SPDX-License-Identifier: Apache-2.0
//
// The areas of the clients a card has, by slot. Slots are in the clients' hands and name their bits
// in UnitChannel::pending.
//
// Whoever finds an area keeps it: it outlives its client while a unit runs one of its commands.
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
  // Nothing when all kMaxClients slots are taken.
  std::optional<uint32_t> insert(std::shared_ptr<ClientArea> area);
  // nullptr when the slot is free.
  std::shared_ptr<ClientArea> find(uint32_t slot) const;
  void remove(uint32_t slot);

 private:
  mutable std::mutex mutex_;
  std::array<std::shared_ptr<ClientArea>, kMaxClients> areas_;
};

}  // namespace tandem::emulation
