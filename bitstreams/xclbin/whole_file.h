// SPDX-License-Identifier: Apache-2.0
//
// Whole files in and out, for v++ and the tools around it.
//
// A written file appears whole or not at all: it is written beside its place and renamed into it,
// through a link to the file behind it. What is no regular file (/dev/stdout, a pipe) is written in
// place. An interrupted program leaves no temporary file (interruption.h). Errors: Error naming
// the path. Threads: any, with different paths.
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

// Makes the folder that `path` shall lie in, and the file. One that exists is refused unless it may
// be replaced.
void write_bytes(const std::string& path, std::span<const std::byte> bytes,
                 bool may_replace = true);
void write_text(const std::string& path, std::string_view text, bool may_replace = true);
// Makes the folder `path` shall lie in.
void make_parent(const std::string& path);

}  // namespace tandem::xclbin
