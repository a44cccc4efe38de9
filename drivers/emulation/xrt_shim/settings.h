// SPDX-License-Identifier: Apache-2.0
//
// What the environment says about the emulated cards. The shim is loaded by XRT, so variables are
// its only interface.
//
// clang-format off
//   TANDEM_CARDS            number of cards, 0 to 16; default 1
//   TANDEM_CARD_PRESET      platform of the cards: u55c (default), u280, u50
//   TANDEM_CARD_EXECUTABLE  the tandem-card program; default: ../bin/tandem-card next to the shim's folder
//   TANDEM_CARD_STATISTICS  file that gets a JSON line per card when the card is closed; default none
//   XCL_EMULATION_MODE      as in XRT
// clang-format on
//
// Read once, at the first use. Threads: any.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::emulation {

struct Settings {
  uint32_t num_cards = 1;
  std::string preset = "u55c";
  std::string card_executable;
  std::string statistics_file;      // empty: none
  bool software_emulation = false;  // XCL_EMULATION_MODE=sw_emu: XRT ignores memory banks
};

const Settings& settings();

}  // namespace tandem::emulation
