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

engine::EngineOptions parsed(std::vector<std::string> arguments) {
  CLI::App app;
  RuntimeOptions options;
  CLI::App* command = app.add_subcommand("serve");
  command->add_option("--config", "a file of options");
  add_runtime_options(*command, options);
  arguments.insert(arguments.begin(), "serve");
  arguments = with_config_file(app, arguments);
  std::ranges::reverse(arguments);
  app.parse(arguments);
  return engine_options(options);
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

}  // namespace
}  // namespace tandem::apps
