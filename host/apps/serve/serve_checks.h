// SPDX-License-Identifier: Apache-2.0
//
// Checks the options of `tandem serve` before a model is loaded, such as missing files and
// impossible devices. `tandem check-config` reports all errors, `tandem serve` only the first.
//
// Each file is read once. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "apps/serve/serve_options.h"
#include "common/error.h"

namespace tandem::apps {

struct ServeError {
  // the option with the wrong value; the text may name another one ("--tls-key")
  std::string option;
  Error error;
};

struct ServeFindings {
  std::vector<ServeError> errors;  // one per mistake
  // Problems that do not prevent the start, such as a key file that every user can read.
  std::vector<std::string> warnings;
};

// Adds to `options.server` the API keys and TLS keys that it reads.
ServeFindings check_serve(ServeOptions& options);

}  // namespace tandem::apps
