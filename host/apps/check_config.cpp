// SPDX-License-Identifier: Apache-2.0
//
// `tandem check-config FILE`: all that is wrong with a configuration of `tandem serve`, before the
// daemon is started or restarted with it. Exit code 0: nothing; 2: something, a line for each.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <memory>

#include "apps/command.h"
#include "apps/config_file.h"
#include "apps/serve/serve_checks.h"
#include "apps/serve/serve_options.h"
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
  add_program_options(app, parsed->log);
  CLI::App* command = app.add_subcommand("serve", "");
  add_serve_options(*command, parsed->serve);
  command->callback([parsed] {});
  return parsed;
}

void run(const std::string& path) {
  CLI::App app("", "tandem");
  ServeOptions& options = add_serve_alone(app)->serve;
  const std::vector<ConfigEntry> entries = read_config(*app.get_subcommand("serve"), path);
  std::vector<std::string> errors =
      wrong_values("serve", entries, [](CLI::App& scratch) { add_serve_alone(scratch); });
  if (errors.empty()) {
    std::vector<std::string> words;  // CLI11 takes them from the back
    for (const ConfigEntry& entry : entries) {
      if (!entry.argument.empty()) words.insert(words.begin(), entry.argument);
    }
    words.emplace_back("serve");
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {  // of values that are right alone
      errors.push_back(path + ": " + error.what());
    }
    const ServeFindings findings = check_serve(options);
    for (const Error& error : findings.errors) errors.emplace_back(error.what());
    for (const std::string& warning : findings.warnings) {
      fmt::print(stderr, "warning: {}\n", warning);
    }
  }
  for (const std::string& error : errors) fmt::print(stderr, "{}\n", error);
  if (!errors.empty()) {
    throw Error("config", fmt::format("{} has {} error{}", path, errors.size(),
                                      errors.size() == 1 ? "" : "s"));
  }
  fmt::print("{}: {} keys, nothing wrong\n", path, entries.size());
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
