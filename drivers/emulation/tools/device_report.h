// SPDX-License-Identifier: Apache-2.0
//
// What xbutil examine says of the machine and of a card, as JSON and as text.
//
// A card is asked through XRT's public API for its name, address and bitstream; what the name
// stands for comes from the table of platforms. Errors: std::exception when a card does not open.
// Threads: one at a time.
#pragma once

#include <xrt/xrt_device.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bitstreams/xclbin/platform.h"

namespace tandem::emulation {

struct ListedCard {
  uint32_t index = 0;
  std::string address;  // "0000:00:00.0"
  std::string platform;
};

// What the card's name stands for, also where it is a platform of the user's own.
const xclbin::Platform& platform_of(const ListedCard& card);

// Every card that an application started here would see.
std::vector<ListedCard> list_cards();
// The card called `name`: an index, an address, or the end of one. Throws Error naming the cards.
ListedCard find_card(const std::string& name);

// Names of the reports about a card.
const std::vector<std::string>& report_names();

nlohmann::ordered_json host_report(const std::vector<ListedCard>& cards);
// `reports`: some of report_names().
nlohmann::ordered_json card_report(const ListedCard& card, const std::vector<std::string>& reports);

std::string host_text(const nlohmann::ordered_json& report);
std::string card_text(const nlohmann::ordered_json& report);

}  // namespace tandem::emulation
