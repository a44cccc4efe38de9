// SPDX-License-Identifier: Apache-2.0
//
// The reports of xbutil examine about the machine and its cards, as JSON and as text.
//
// A card's name, address and bitstream come from XRT's public API; the table of platforms gives the
// properties that belong to the name. Errors: std::exception if a card cannot be opened. Threads:
// one at a time.
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

// The platform with the card's name; it may be one that the user described.
const xclbin::Platform& platform_of(const ListedCard& card);

// The cards that an application finds if it is started with the same environment.
std::vector<ListedCard> list_cards();
// Finds the card by its index, its address, or the end of its address. Throws Error that lists the
// cards.
ListedCard find_card(const std::string& name);

// Names of the reports about a card.
const std::vector<std::string>& report_names();

nlohmann::ordered_json host_report(const std::vector<ListedCard>& cards);
// `reports`: some of report_names().
nlohmann::ordered_json card_report(const ListedCard& card, const std::vector<std::string>& reports);

std::string host_text(const nlohmann::ordered_json& report);
std::string card_text(const nlohmann::ordered_json& report);

}  // namespace tandem::emulation
