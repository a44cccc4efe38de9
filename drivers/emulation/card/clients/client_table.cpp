// SPDX-License-Identifier: Apache-2.0
//
// A new client gets the first free slot.
#include "emulation/card/clients/client_table.h"

#include <algorithm>
#include <utility>

namespace tandem::emulation {

std::optional<uint32_t> ClientTable::insert(std::shared_ptr<ClientArea> area) {
  std::lock_guard lock(mutex_);
  const auto place = std::find(areas_.begin(), areas_.end(), nullptr);
  if (place == areas_.end()) return std::nullopt;
  *place = std::move(area);
  return static_cast<uint32_t>(place - areas_.begin());
}

std::shared_ptr<ClientArea> ClientTable::find(uint32_t slot) const {
  std::lock_guard lock(mutex_);
  return areas_[slot];
}

void ClientTable::remove(uint32_t slot) {
  std::shared_ptr<ClientArea> removed;  // unmapped after the lock is released
  std::lock_guard lock(mutex_);
  removed.swap(areas_[slot]);
}

}  // namespace tandem::emulation
