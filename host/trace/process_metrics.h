// SPDX-License-Identifier: Apache-2.0
//
// Figures of the system about this process: memory, processor time, threads, file descriptors.
//
// Source: /proc/self of Linux (proc(5)), read at every call. A figure that cannot be read is
// absent. Threads: any.
#pragma once

#include <cstdint>
#include <optional>

namespace tandem::trace {

struct ProcessFigures {
  std::optional<std::uint64_t> resident_bytes, virtual_bytes;
  std::optional<std::uint64_t> open_fds, max_fds;
  std::optional<std::uint64_t> threads;
  std::optional<double> cpu_seconds;         // user and system
  std::optional<double> start_time_seconds;  // Unix time
};

ProcessFigures process_figures();

}  // namespace tandem::trace
