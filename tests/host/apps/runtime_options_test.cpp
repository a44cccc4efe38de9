// SPDX-License-Identifier: Apache-2.0
//
// Options of the command line and of a file -> options of the engine.
#include "apps/runtime_options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "apps/config_file.h"
#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

void add_serve(CLI::App& app, RuntimeOptions& options) {
  CLI::App* command = app.add_subcommand("serve");
  command->add_option("--config", "a file of options");
  add_runtime_options(*command, options);
}

RuntimeOptions options_of(std::vector<std::string> arguments) {
  CLI::App app;
  RuntimeOptions options, unused;
  add_serve(app, options);
  arguments.insert(arguments.begin(), "serve");
  arguments = with_config_file(app, arguments, [&](CLI::App& other) { add_serve(other, unused); });
  std::ranges::reverse(arguments);
  app.parse(arguments);
  return options;
}

engine::EngineOptions parsed(const std::vector<std::string>& arguments) {
  return engine_options(options_of(arguments));
}

TEST(RuntimeOptions, RingsAreOnUnlessTheyAreSwitchedOff) {
  EXPECT_TRUE(parsed({}).rings);
  EXPECT_TRUE(parsed({"--rings", "on"}).rings);
  EXPECT_FALSE(parsed({"--rings", "off"}).rings);
  for (const char* word : {"never", "2", ""}) {
    EXPECT_THROW(parsed({"--rings", word}), CLI::ParseError) << word;
  }
}

TEST(RuntimeOptions, RingsAreAKeyOfTheFileToo) {
  const test::ScratchPath file("rings.toml");
  for (const bool rings : {false, true}) {
    std::ofstream(file.string()) << "rings = \"" << (rings ? "on" : "off") << "\"\n";
    EXPECT_EQ(parsed({"--config", file.string()}).rings, rings);
    EXPECT_TRUE(parsed({"--config", file.string(), "--rings", "on"}).rings) << "typed words win";
  }
}

TEST(RuntimeOptions, AnEmptyModelIsAnErrorAndNotTheDemoModel) {
  for (const char* option : {"--model", "--attention", "--compute"}) {
    EXPECT_THROW(options_of({option, ""}), CLI::ValidationError) << option;
  }
}

TEST(RuntimeOptions, SizesTakeUnits) {
  EXPECT_EQ(options_of({"--kv-memory", "2GiB"}).kv_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(options_of({"--kv-memory", "512"}).kv_bytes, 512u);
}

}  // namespace
}  // namespace tandem::apps
