// SPDX-License-Identifier: Apache-2.0
//
// The subcommand `tandem trace-comm`: runs a program with tracing libraries, or imports files of
// other tools, and writes the communication matrices. Threads: one.
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::apps {

// `code`: receives the exit code of the traced program.
void add_trace_comm(CLI::App& app, int& code);

}  // namespace tandem::apps
