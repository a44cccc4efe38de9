// SPDX-License-Identifier: Apache-2.0
//
// Settings of the emulated cards, from the environment: XRT loads the shim, so a program cannot
// pass any. Read once, at the first use. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::emulation {

//   TANDEM_CARDS            number of cards, 0 to 16; default: that of emconfig.json, else 1
//   TANDEM_CARD_PRESET      platform of the cards (see find_platform()); default: that of
//                           emconfig.json, else u55c
//   EMCONFIG_PATH           folder of emconfig.json; default: the executable's folder, else the
//                           working folder
//   TANDEM_CARD_EXECUTABLE  the tandem-card program; default: ../bin/tandem-card next to the shim's
//                           folder
//   TANDEM_CARD_STATISTICS  file that gets a JSON line per card when the card is closed; default:
//                           none
//   TANDEM_CARD_SCOPE       processes of this user with the same scope share cards: letters,
//                           digits, '_', '-', '.'; default: each process has its own cards
//   XCL_EMULATION_MODE      as in XRT
struct Settings {
  uint32_t num_cards = 1;
  // A name or file for find_platform() per card; not empty if there is a card.
  std::vector<std::string> platforms;
  // by a variable or emconfig.json; otherwise the first bitstream decides
  bool platform_chosen = false;
  std::string card_executable;
  std::string scope;                // empty: the process has its own cards
  std::string statistics_file;      // empty: none
  bool software_emulation = false;  // XCL_EMULATION_MODE=sw_emu: XRT ignores memory banks
};

const Settings& settings();

}  // namespace tandem::emulation
