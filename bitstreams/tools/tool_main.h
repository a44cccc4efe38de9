// SPDX-License-Identifier: Apache-2.0
//
// The main function of a command-line tool: parses the options, does the work, turns an error into
// one message.
//
// Exit status: what `work` returns; 2 after "<tool>: ERROR: <message>" on standard error. Threads:
// main.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "bitstreams/xclbin/interruption.h"
#include "bitstreams/xclbin/platform.h"
#include "common/suggestion.h"

namespace tandem::xclbin {

// The message for the first unknown word; empty when all are known. It has priority, because a
// mistyped option is often the reason why a required one is missing.
inline std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) return {};
  const std::string& word = words.front();
  const size_t begin = word.find_first_not_of('-');
  if (begin == 0 || begin == std::string::npos) return "'" + word + "' is not expected here";
  std::vector<std::string_view> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const std::string option = word.substr(0, word.find('='));
  return "unknown option " + option + suggestion(std::string_view(option).substr(begin), names);
}

template <typename Work>
int run_tool(CLI::App& app, int argc, char** argv, Work&& work) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_word(app);
    std::fprintf(stderr, "%s: ERROR: %s; --help lists the options\n", app.get_name().c_str(),
                 unknown.empty() ? error.what() : unknown.c_str());
    return 2;
  }
  clean_up_on_interruption();
  search_platforms_in(std::getenv("PLATFORM_REPO_PATHS"));
  try {
    return work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: ERROR: %s\n", app.get_name().c_str(), error.what());
    return 2;
  }
}

// The output of --version of every tool. Scripts search it for the vendor's year.
constexpr const char* kToolVersionText =
    "Tandem, compatible with v2022.1 (XRT 2.13.466) of the vendor's tools";

}  // namespace tandem::xclbin
