// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem` itself, which stand before or after the subcommand.
#include "apps/command.h"

namespace tandem::apps {

void add_program_options(CLI::App& app, std::string& log_level) {
  app.add_option("--log-level", log_level, "trace, debug, info, warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.fallthrough();
}

}  // namespace tandem::apps
