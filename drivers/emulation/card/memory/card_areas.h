// SPDX-License-Identifier: Apache-2.0
//
// The memory of a card: the state it shares with its clients, its device memory, and the clients'
// areas; and the card's settings. Threads: any.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "emulation/card/checks/race_map.h"
#include "emulation/card/clients/client_table.h"
#include "emulation/protocol/checks.h"
#include "emulation/protocol/memory_states.h"
#include "emulation/protocol/shared_area.h"
#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {

struct CardSettings {
  std::string report_file;  // gets the findings as JSON lines; empty: none
  uint32_t checks = 0;      // bits of Check
  // A command that takes longer is ended; 0: none is.
  std::chrono::milliseconds deadline{0};
  bool timed = false;  // TANDEM_TIME: runs get a modelled time
  bool has(Check check) const { return (checks & check) != 0; }
};

struct CardAreas {
  SharedArea state;
  SharedArea device;  // followed by the peer windows, see device_space.h
  MemoryStates states;
  std::unique_ptr<RaceMap> races;  // null without that check
  ClientTable clients;
  CardSettings settings;
  SharedState& shared() const { return *reinterpret_cast<SharedState*>(state.data()); }
};

}  // namespace tandem::emulation
