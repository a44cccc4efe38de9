// SPDX-License-Identifier: Apache-2.0
//
// Shared by the commands of planners: input and output files, and times in microseconds.
//
// Threads: pure. Errors: Error(module, ...) naming a path that cannot be read or written.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/error.h"
#include "common/text_parts.h"

namespace tandem::apps {

std::ifstream opened_input(const std::string& module, const std::string& path);

// Returns read(stream of the file). Prepends the file to the text of an error in it.
template <typename Read>
auto read_named(const std::string& module, const std::string& path, const Read& read) {
  std::ifstream file = opened_input(module, path);
  try {
    return read(file);
  } catch (const Error& error) {
    throw Error(module, "'" + path + "': " + std::string(without_tag(error.what())));
  }
}

// Replaces the file completely, or leaves it unchanged on failure.
void write_whole(const std::string& module, const std::string& path, const std::string& text);

// A whole number of microseconds is written without a fraction.
nlohmann::json us_json(std::int64_t time_ps);

}  // namespace tandem::apps
