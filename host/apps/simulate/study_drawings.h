// SPDX-License-Identifier: Apache-2.0
//
// The studies of `tandem simulate` as SVG.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "simulation/suggest/design_gains.h"
#include "simulation/suggest/gain_map.h"

namespace tandem::apps {

// A field of squares per KV type and group: batch downwards, context to the right. The darker, the
// larger the gain; a frame where it pays.
std::string map_svg(const std::string& title, const simulation::GainMap& map);

// A bar per row.
std::string design_svg(const std::string& title, const std::vector<simulation::DesignRow>& rows);

}  // namespace tandem::apps
