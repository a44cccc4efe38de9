// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files, for v++ and the other tools.
//
// A file is written completely or not at all: to a temporary file beside it, then renamed. A
// symbolic link stays; the file that it points to is replaced. A device or pipe (/dev/stdout) is
// written directly. An interrupted program leaves no temporary file (interruption.h). Errors: Error
// naming the path. Threads: any, with different paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::xclbin {

constexpr uint64_t kMaxFileBytes = uint64_t{2} << 30;

// The file's contents; refuses files larger than `max_bytes`.
std::vector<std::byte> read_bytes(const std::string& path, uint64_t max_bytes = kMaxFileBytes);
std::string read_text(const std::string& path, uint64_t max_bytes = kMaxFileBytes);

// Makes the folder of `path`, and the file. An existing file is refused unless it may be replaced.
void write_bytes(const std::string& path, std::span<const std::byte> bytes,
                 bool may_replace = true);
void write_text(const std::string& path, std::string_view text, bool may_replace = true);
// Makes the folder of `path`.
void make_parent(const std::string& path);

}  // namespace tandem::xclbin
