// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem` itself, which may precede or follow the subcommand.
#include "apps/command.h"

namespace tandem::apps {

void add_program_options(CLI::App& app, LogOptions& options) {
  constexpr auto kLast = CLI::MultiOptionPolicy::TakeLast;  // a configuration file comes first
  app.add_option("--log-level", options.level, "trace, debug, info, warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->multi_option_policy(kLast)
      ->capture_default_str();
  app.add_option("--log-format", options.format, "text, or json: one object per line")
      ->check(CLI::IsMember({"text", "json"}))
      ->multi_option_policy(kLast)
      ->capture_default_str();
  app.fallthrough();
}

}  // namespace tandem::apps
