// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with the options of `tandem serve` before a model is loaded: files that are not
// there, devices that cannot be. `tandem check-config` reports all of it, `tandem serve` the first.
//
// Threads: pure functions of options and files.
#pragma once

#include <string>
#include <vector>

#include "apps/serve/serve_options.h"
#include "common/error.h"

namespace tandem::apps {

// One for each thing that is wrong; empty: none.
std::vector<Error> serve_errors(const ServeOptions& options);

// What the daemon can do with, but should not have: a key file that every user can read.
std::vector<std::string> serve_warnings(const ServeOptions& options);

}  // namespace tandem::apps
