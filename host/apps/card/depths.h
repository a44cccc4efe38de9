// SPDX-License-Identifier: Apache-2.0
//
// `tandem card depths`: runs a command on emulated cards to find stream depths.
//
// Threads: one call at a time. Errors: Error("card", ...).
#pragma once

#include <string>
#include <vector>

#include "apps/card/depth_search.h"

namespace tandem::apps {

// Runs the command several times. Prints its output only if a run fails.
LeastDepths find_depths_of(const std::vector<std::string>& command);

std::string depths_text(const LeastDepths& depths);
std::string depths_json(const LeastDepths& depths);

}  // namespace tandem::apps
