// SPDX-License-Identifier: Apache-2.0
//
// Keeps the last lines of the log for operators who look at a running program.
//
// Threads: keep_recent_log() before others log; recent_log() from any.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tandem {

// From now on the default logger also keeps its last `lines` lines in memory. Call it before
// use_log_format(), which sets their format too. lines: at least 1.
void keep_recent_log(std::size_t lines);

// The oldest first, without line ends; empty unless they are kept.
std::vector<std::string> recent_log();

}  // namespace tandem
