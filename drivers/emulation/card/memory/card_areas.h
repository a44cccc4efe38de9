// SPDX-License-Identifier: Apache-2.0
//
// The memory of a card: the state it shares with its clients, its device memory, and the clients'
// areas. Threads: any.
#pragma once

#include "emulation/card/clients/client_table.h"
#include "emulation/protocol/shared_area.h"
#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {

struct CardAreas {
  SharedArea state;
  SharedArea device;  // followed by the peer windows, see device_space.h
  ClientTable clients;
  SharedState& shared() const { return *reinterpret_cast<SharedState*>(state.data()); }
};

}  // namespace tandem::emulation
