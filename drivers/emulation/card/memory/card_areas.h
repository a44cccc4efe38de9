// SPDX-License-Identifier: Apache-2.0
//
// CardAreas: the memory of a card: the state that it shares with its clients, its device memory,
// and the clients' areas. CardSettings: the card's settings. Threads: any.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "emulation/card/checks/device_shadow.h"
#include "emulation/card/checks/race_map.h"
#include "emulation/card/clients/client_table.h"
#include "emulation/protocol/checks.h"
#include "emulation/protocol/memory_states.h"
#include "emulation/protocol/shared_area.h"
#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {

struct CardSettings {
  std::string report_file;  // receives the findings as JSON lines; empty: none
  std::string runs_file;    // receives a line when the card starts and after each run; empty: none
  uint32_t checks = 0;      // bits of Check
  // Commands that take longer are ended; 0: no limit.
  std::chrono::milliseconds deadline{0};
  bool timed = false;           // TANDEM_TIME: runs have a modelled time
  bool waves = false;           // TANDEM_WAVES: and a line for waveforms
  bool measures_units = false;  // TANDEM_CARD_STATISTICS: also their processor time
  bool has(Check check) const { return (checks & check) != 0; }
};

struct CardAreas {
  SharedArea state;
  SharedArea device;  // followed by the peer windows, see device_space.h
  MemoryStates states;
  std::unique_ptr<DeviceShadow> shadow;  // null if memory is not checked
  std::unique_ptr<RaceMap> races;        // null if races are not checked
  ClientTable clients;
  CardSettings settings;
  SharedState& shared() const { return *reinterpret_cast<SharedState*>(state.data()); }
};

}  // namespace tandem::emulation
