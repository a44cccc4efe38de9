// SPDX-License-Identifier: Apache-2.0
//
// What `tandem card watch` shows: cards with what changed between two answers, as JSON and as text.
// Pure. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/card/watched_cards.h"

namespace tandem::apps {

// {"cards": [{"process", "card", "state", "platform", "applications", "memory_bytes", "used_bytes",
// "bytes_to_device", "bytes_from_device", "to_device_gb_per_s", "from_device_gb_per_s", "findings",
// "units": [{"kernel", "unit", "state", "commands", "launches", "busy_share", "waits"}],
// "streams": [{"stream", "from", "to", "held", "depth"}]}]}. Of a card that did not answer, the
// first three. Rates and shares are those between `before` and `now`; null for a card or a unit
// that is not in `before`.
nlohmann::ordered_json cards_json(const std::vector<WatchedCard>& before,
                                  const std::vector<WatchedCard>& now);

// Lines of at most `width` characters; 0: any.
std::string cards_text(const nlohmann::ordered_json& view, std::size_t width);

}  // namespace tandem::apps
