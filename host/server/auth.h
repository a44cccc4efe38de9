// SPDX-License-Identifier: Apache-2.0
//
// API keys: the permissions of a key, and the file that lists the keys.
//
// Keys are kept as SHA-256 hashes. Keys must be random, as `tandem key` makes them: a hash hides a
// random key, but a word can be guessed from it. Threads: plain data. The forms of the file are in
// README.md of access/.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::server {

// A key has one or more roles. kAdmin includes the others.
enum class Role : unsigned { kUse = 1, kMetrics = 2, kAdmin = 4 };

// What one key may take; 0: no limit of its own.
struct KeyLimits {
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;  // prompt and output
  int concurrent_requests = 0;
  int max_choices = 0;               // "n" times the number of prompts
  int max_tokens = 0;                // that all choices of one request generate together
  std::optional<int> best_priority;  // in place of the server's
};

using KeyHash = std::array<std::uint8_t, 32>;  // SHA-256

KeyHash hash_key(std::string_view key);
std::string hex_text(const KeyHash& hash);  // 64 digits in lower case

// 192 random bits; throws Error when the system has none.
std::string random_key();

// Letters, digits, '.', '_', '-'; 1 to 64 of them. "other" is kept for metrics.
bool is_key_name(std::string_view name);

struct ApiKey {
  ApiKey() = default;
  // A key as a line of the file gives it: a name made of its hash, the roles use and metrics.
  ApiKey(const char* key);

  bool may(Role role) const;
  std::string role_text() const;  // "use and metrics"

  std::string name;
  KeyHash hash{};
  unsigned roles = static_cast<unsigned>(Role::kUse);  // bits of Role
  KeyLimits limits;
};

struct LoadedKeys {
  std::vector<ApiKey> keys;
  std::string warning;  // others can write the file, or read unhashed keys in it; empty: neither
};

// Throws Error("server", ...) naming file and line when the file cannot be read, an entry is wrong,
// a name or a key comes twice, or there is no key (an empty file must not open the server).
LoadedKeys load_api_keys(const std::string& path);

}  // namespace tandem::server
