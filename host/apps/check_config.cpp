// SPDX-License-Identifier: Apache-2.0
//
// `tandem check-config FILE`: all that is wrong with a configuration of `tandem serve`, before the
// daemon is started or restarted with it. Exit code 0: nothing; 2: something, a line for each.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "apps/command.h"
#include "apps/config_file.h"
#include "apps/run_program.h"
#include "apps/serve/serve_checks.h"
#include "apps/serve/serve_options.h"
#include "common/counted.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

struct Parsed {
  ServeOptions serve;
  LogOptions log;
};

// A program that has only `serve`, and does not run it; its command keeps the values.
std::shared_ptr<Parsed> add_serve_alone(CLI::App& app) {
  auto parsed = std::make_shared<Parsed>();
  add_log_options(app, parsed->log);
  CLI::App* command = app.add_subcommand("serve", "");
  add_serve_options(*command, parsed->serve);
  command->callback([parsed] {});
  return parsed;
}

bool names(const std::string& text, const std::string& key) {
  const std::string option = "--" + key;
  const auto is_name = [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); };
  for (std::size_t at = text.find(option); at != std::string::npos;
       at = text.find(option, at + 1)) {
    const std::size_t end = at + option.size();
    if (end == text.size() || !is_name(text[end])) return true;
  }
  return false;
}

// At the line of the option that the text names, else of `option`.
ConfigFault located(const Config& config, const std::string& option, const std::string& text) {
  const ConfigEntry* found = nullptr;
  for (const ConfigEntry& entry : config.entries) {
    const bool is_named = names(text, entry.key);
    if (is_named || entry.key == option) found = &entry;
    if (is_named) break;
  }
  const std::uint32_t line = found == nullptr ? 0 : found->line;
  return {line, config_place(config, line) + ": " + text};
}

// The errors of values that are valid alone: in their combination, or in the files that they name.
std::vector<ConfigFault> deeper_faults(CLI::App& app, ServeOptions& options, const Config& config) {
  std::vector<ConfigFault> faults;
  std::vector<std::string> words;  // CLI11 takes words from the back
  for (const ConfigEntry& entry : config.entries) {
    words.insert(words.begin(), entry.words.rbegin(), entry.words.rend());
  }
  words.emplace_back("serve");
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    faults.push_back(located(config, {}, error.what()));
  }
  const ServeFindings findings = check_serve(options);
  for (const ServeError& each : findings.errors) {
    faults.push_back(located(config, each.option, each.error.what()));
  }
  for (const std::string& warning : findings.warnings) {
    fmt::print(stderr, "warning: {}\n", warning);
  }
  return faults;
}

void run(const std::string& path) {
  CLI::App app("", "tandem");
  ServeOptions& options = add_serve_alone(app)->serve;
  Config config = read_config(*app.get_subcommand("serve"), path,
                              [](CLI::App& scratch) { add_serve_alone(scratch); });
  const std::vector<ConfigFault> more = deeper_faults(app, options, config);
  config.faults.insert(config.faults.end(), more.begin(), more.end());
  std::ranges::stable_sort(config.faults, {}, &ConfigFault::line);
  for (const ConfigFault& fault : config.faults) fmt::print(stderr, "{}\n", fault.text);
  if (!config.faults.empty()) {
    throw Error("config", fmt::format("{} has {}", path, counted(config.faults.size(), "error")));
  }
  fmt::print("{}: {}, nothing wrong\n", path, counted(config.entries.size(), "key"));
}

}  // namespace

void add_check_config(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("check-config", "Check a configuration file of `tandem serve`");
  auto path = std::make_shared<std::string>();
  command->add_option("file", *path, "TOML file, as for `tandem serve --config`")
      ->required()
      ->check(CLI::ExistingFile);
  command->callback([path] { run(*path); });
}

}  // namespace tandem::apps
