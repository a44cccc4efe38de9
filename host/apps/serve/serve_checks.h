// SPDX-License-Identifier: Apache-2.0
//
// Checks the options of `tandem serve` before a model is loaded: missing files, impossible devices.
// `tandem check-config` reports all errors, `tandem serve` the first one.
//
// Each file is read once. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "apps/serve/serve_options.h"
#include "common/error.h"

namespace tandem::apps {

struct ServeError {
  // the option whose value is wrong; the text may name another one ("--tls-key")
  std::string option;
  Error error;
};

struct ServeFindings {
  std::vector<ServeError> errors;  // one for each thing that is wrong
  // Problems with which the daemon starts all the same, such as a key file that every user can
  // read.
  std::vector<std::string> warnings;
};

// Adds to `options.server` the API keys and TLS keys that it reads.
ServeFindings check_serve(ServeOptions& options);

}  // namespace tandem::apps
