// SPDX-License-Identifier: Apache-2.0
//
// The memory of a card: the state it shares with its clients, its device memory, and the clients'
// areas; and the card's settings. Threads: any.
#pragma once

#include <string>

#include "emulation/card/clients/client_table.h"
#include "emulation/protocol/shared_area.h"
#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {

struct CardSettings {
  std::string report_file;    // gets the findings as JSON lines; empty: none
  bool keeps_depths = false;  // see hls_runtime::UnitSettings
};

struct CardAreas {
  SharedArea state;
  SharedArea device;  // followed by the peer windows, see device_space.h
  ClientTable clients;
  CardSettings settings;
  SharedState& shared() const { return *reinterpret_cast<SharedState*>(state.data()); }
};

}  // namespace tandem::emulation
