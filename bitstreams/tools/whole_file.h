// SPDX-License-Identifier: Apache-2.0
//
// Files that appear whole or not at all, and bounded reading.
//
// Errors: Error naming the path. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem::xclbin {

// The file's bytes; refuses files larger than `max_bytes` before reading them.
std::vector<std::byte> read_whole_file(const std::string& path, uint64_t max_bytes);
// Writes through a temporary file next to `path`. An existing file is replaced only when `force`.
void write_whole_file(const std::string& path, std::span<const std::byte> bytes, bool force);
void write_whole_file(const std::string& path, const std::string& text, bool force);

}  // namespace tandem::xclbin
