// SPDX-License-Identifier: Apache-2.0
//
// What the commands of planners share: input files, and times in microseconds.
//
// Threads: pure. Errors: Error(module, ...) naming a path that cannot be read.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem::apps {

std::ifstream opened_input(const std::string& module, const std::string& path);

// Whole microseconds as a whole number.
nlohmann::json us_json(std::int64_t time_ps);

}  // namespace tandem::apps
