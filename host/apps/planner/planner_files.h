// SPDX-License-Identifier: Apache-2.0
//
// What the commands of planners share: input and output files, and times in microseconds.
//
// Threads: pure. Errors: Error(module, ...) naming a path that cannot be read or written.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem::apps {

std::ifstream opened_input(const std::string& module, const std::string& path);

// The file is whole, or as it was before.
void write_whole(const std::string& module, const std::string& path, const std::string& text);

// Whole microseconds as a whole number.
nlohmann::json us_json(std::int64_t time_ps);

}  // namespace tandem::apps
