// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 and random bytes are OpenSSL's.
#include "server/auth.h"

#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "common/error.h"
#include "common/text_parts.h"
#include "server/access/key_tables.h"

namespace tandem::server {
namespace {

constexpr std::size_t kMaxKeys = 10'000;
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::string_view kHashPrefix = "sha256:";

std::string hex_digits(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

ApiKey line_key(const KeyHash& hash) {
  ApiKey key;
  key.name = "key-" + hex_text(hash).substr(0, 8);
  key.hash = hash;
  key.roles = static_cast<unsigned>(Role::kUse) | static_cast<unsigned>(Role::kMetrics);
  return key;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::array<char, 4096> piece{};
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad()) {  // bad() is set for a directory
    throw Error("server", "cannot read the API key file '" + path + "'");
  }
  return text;
}

struct KeyLines {
  std::vector<PlacedKey> keys;
  bool has_unhashed = false;
};

// "[key]" or "name=value": a file of tables without its first line would make its other lines keys,
// which anyone can guess. The padding of a key in base64 is no value.
bool looks_like_table(std::string_view entry) {
  const std::size_t value = entry.find_first_not_of('=', std::min(entry.find('='), entry.size()));
  return entry.front() == '[' || value != std::string_view::npos;
}

// One key per line. The text of a key never gets into a message.
KeyLines read_key_lines(const std::string& text, const std::string& path) {
  KeyLines result;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string_view entry = trimmed(line);
    if (entry.empty() || entry.front() == '#') continue;
    if (!std::all_of(entry.begin(), entry.end(), [](char c) { return c > ' ' && c < '\x7f'; })) {
      fail_key_file(path, number, "a key must be printable ASCII without blanks");
    }
    if (looks_like_table(entry)) {
      fail_key_file(path, number,
                    "this is a part of a table, not a key; the first line of a table is [[key]]");
    }
    if (entry.starts_with(kHashPrefix)) {
      const auto hash = parse_key_hash(entry);
      if (!hash) fail_key_file(path, number, "'sha256:' must be followed by 64 hexadecimal digits");
      result.keys.push_back({line_key(*hash), number});
    } else {
      result.keys.push_back({line_key(hash_key(entry)), number});
      result.has_unhashed = true;
    }
  }
  return result;
}

// The first line that is neither empty nor a comment decides the form of the file.
bool holds_key_tables(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    const std::string_view entry = trimmed(line);
    if (!entry.empty() && entry.front() != '#') return entry.starts_with("[[");
  }
  return false;
}

std::vector<ApiKey> distinct_keys(std::vector<PlacedKey> keys, const std::string& path) {
  if (keys.empty()) {
    throw Error("server", "API key file '" + path + "' has no key; `tandem key` makes one");
  }
  if (keys.size() > kMaxKeys) {
    throw Error("server", "API key file '" + path + "' has " + std::to_string(keys.size()) +
                              " keys; at most " + std::to_string(kMaxKeys) + " are allowed");
  }
  std::map<std::string, int> names;
  std::map<KeyHash, int> hashes;
  std::vector<ApiKey> result;
  for (PlacedKey& each : keys) {
    const auto [hash, new_hash] = hashes.emplace(each.key.hash, each.line);
    if (!new_hash) {
      fail_key_file(path, each.line, "this key is already in line " + std::to_string(hash->second));
    }
    const auto [name, new_name] = names.emplace(each.key.name, each.line);
    if (!new_name) {
      fail_key_file(
          path, each.line,
          "the name '" + each.key.name + "' is already in line " + std::to_string(name->second));
    }
    result.push_back(std::move(each.key));
  }
  return result;
}

// What the owner of the file should mend; empty: nothing. Hashes of random keys may be read.
std::string warning_of(const std::string& path, bool has_unhashed) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  const mode_t mode = status.st_mode & 0777;
  const auto warning = [&](const std::string& who, const std::string& problem) {
    char octal[8];
    std::snprintf(octal, sizeof octal, "%03o", static_cast<unsigned>(mode));
    return who + " of this machine can " + problem + " (mode " + octal + "): chmod 600 '" + path +
           "'";
  };
  const std::string file = "the key file '" + path + "'";
  if ((mode & S_IWOTH) != 0) return warning("every user", "write " + file);
  if (!has_unhashed || (mode & (S_IRGRP | S_IROTH)) == 0) return {};
  const std::string read = "read " + file + ", and it holds keys that are not hashed";
  return warning((mode & S_IROTH) != 0 ? "every user" : "a group of users", read);
}

}  // namespace

void fail_key_file(const std::string& path, int line, const std::string& problem) {
  throw Error("server",
              "API key file '" + path + "' line " + std::to_string(line) + ": " + problem);
}

std::optional<KeyHash> parse_key_hash(std::string_view text) {
  KeyHash hash{};
  if (!text.starts_with(kHashPrefix) || text.size() != kHashPrefix.size() + 2 * hash.size()) {
    return std::nullopt;
  }
  text.remove_prefix(kHashPrefix.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    int digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else {
      return std::nullopt;
    }
    hash[i / 2] = static_cast<std::uint8_t>(hash[i / 2] << 4 | digit);
  }
  return hash;
}

KeyHash hash_key(std::string_view key) {
  KeyHash hash{};
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), hash.data());
  return hash;
}

std::string hex_text(const KeyHash& hash) { return hex_digits(hash.data(), hash.size()); }

std::string random_key() {
  std::array<std::uint8_t, 24> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw Error("server", "the system gives no random bytes");
  }
  return "tandem-" + hex_digits(bytes.data(), bytes.size());
}

bool is_key_name(std::string_view name) {
  const auto fits = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && name != "other" &&
         std::all_of(name.begin(), name.end(), fits);
}

ApiKey::ApiKey(const char* key) { *this = line_key(hash_key(key)); }

bool ApiKey::may(Role role) const {
  return (roles & (static_cast<unsigned>(role) | static_cast<unsigned>(Role::kAdmin))) != 0;
}

std::string ApiKey::role_text() const {
  std::string text;
  const auto add = [&](Role role, const char* name) {
    if ((roles & static_cast<unsigned>(role)) == 0) return;
    text += (text.empty() ? "" : " and ") + std::string(name);
  };
  add(Role::kUse, "use");
  add(Role::kMetrics, "metrics");
  add(Role::kAdmin, "admin");
  return text;
}

LoadedKeys load_api_keys(const std::string& path) {
  const std::string text = text_of_file(path);
  KeyLines lines =
      holds_key_tables(text) ? KeyLines{read_key_tables(text, path)} : read_key_lines(text, path);
  std::string warning = warning_of(path, lines.has_unhashed);
  return {distinct_keys(std::move(lines.keys), path), std::move(warning)};
}

}  // namespace tandem::server
