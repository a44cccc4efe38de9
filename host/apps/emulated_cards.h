// SPDX-License-Identifier: Apache-2.0
//
// Sets the environment variables that device ids such as xrt:0,xrt:1 need, before XRT reads them at
// its first use.
//
// TANDEM_CARDS holds the number of emulated cards. If it is not set, it becomes the number that the
// ids need. If XILINX_XRT is not set either, and the machine has no runtime for real cards, it
// becomes the folder of the emulated cards that are installed with this program. Threads: call
// provide_cards() while the process has one thread. Errors: Error("attention", ...) with the
// variable to set.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tandem::apps {

struct CardEnvironment {
  std::optional<std::string> xilinx_xrt;  // the variables, if they are set
  std::optional<std::string> tandem_cards;
  std::string own_tree;           // the emulated cards beside this program; empty: none
  bool is_emulation = false;      // XILINX_XRT names emulated cards
  bool has_real_runtime = false;  // a driver or a runtime for real cards is installed
};

CardEnvironment card_environment();

// Returns the variables to set for these ids. Ids of other devices need none.
std::map<std::string, std::string> card_variables(const std::vector<std::string>& ids,
                                                  const CardEnvironment& environment);

// Sets these variables in the environment. Calls `warn` if the user may have wanted real cards.
void provide_cards(const std::vector<std::string>& ids,
                   const std::function<void(const std::string&)>& warn);

// The text for a device list without cards: the reason, and what to do.
std::string missing_cards_hint(const CardEnvironment& environment);

}  // namespace tandem::apps
