// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with the options of `tandem serve` before a model is loaded: files that are not
// there, devices that cannot be. `tandem check-config` reports all of it, `tandem serve` the first.
//
// Each file is read once. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "apps/serve/serve_options.h"
#include "common/error.h"

namespace tandem::apps {

struct ServeError {
  std::string option;  // whose value is checked; the text may name another one ("--tls-key")
  Error error;
};

struct ServeFindings {
  std::vector<ServeError> errors;  // one for each thing that is wrong
  // What the daemon can do with, but should not have: a key file that every user can read.
  std::vector<std::string> warnings;
};

// Completes `options.server` with what it reads on the way: API keys, TLS keys.
ServeFindings check_serve(ServeOptions& options);

}  // namespace tandem::apps
