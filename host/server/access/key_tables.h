// SPDX-License-Identifier: Apache-2.0
//
// The TOML form of the API key file: a [[key]] table per key, with name, hash, role and limits.
//
// Also the functions that both forms of the file share. Errors: Error("server", ...) naming file
// and line; a message never holds the text of a key. Pure; threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/auth.h"

namespace tandem::server {

struct PlacedKey {
  ApiKey key;
  int line = 0;
};

std::vector<PlacedKey> read_key_tables(const std::string& text, const std::string& path);

// "sha256:" and 64 hexadecimal digits.
std::optional<KeyHash> parse_key_hash(std::string_view text);

[[noreturn]] void fail_key_file(const std::string& path, int line, const std::string& problem);

}  // namespace tandem::server
