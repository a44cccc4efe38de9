// SPDX-License-Identifier: Apache-2.0
//
// The frame of a command-line tool: parses the options, does the work, turns an error into one
// message.
//
// Exit status: what `work` returns; 2 after "<tool>: ERROR: <message>" on standard error. Threads:
// main.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "bitstreams/interruption.h"
#include "bitstreams/platform.h"

namespace tandem::xclbin {

template <typename Work>
int run_tool(CLI::App& app, int argc, char** argv, Work&& work) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: ERROR: %s; --help lists the options\n", app.get_name().c_str(),
                 error.what());
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

// What --version of every tool says; scripts look for the vendor's year.
constexpr const char* kToolVersionText =
    "Tandem, compatible with v2022.1 (XRT 2.13.466) of the vendor's tools";

}  // namespace tandem::xclbin
