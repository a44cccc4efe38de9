// SPDX-License-Identifier: Apache-2.0
//
// Draws the studies of `tandem simulate` as SVG.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "simulation/suggest/design_gains.h"
#include "simulation/suggest/gain_map.h"

namespace tandem::apps {

// One field of squares per KV type and group: the batch grows downwards, the context to the right.
// A darker square is a larger gain. A frame marks a gain that is worth its price.
std::string map_svg(const std::string& title, const simulation::GainMap& map);

// One bar per row.
std::string design_svg(const std::string& title, const std::vector<simulation::DesignRow>& rows);

}  // namespace tandem::apps
