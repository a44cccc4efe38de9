// SPDX-License-Identifier: Apache-2.0
//
// Source of the header's form: RFC 6750 section 2.1; the scheme's name is case-insensitive.
#include "server/auth.h"

#include <algorithm>
#include <fstream>

#include "common/error.h"
#include "server/http/wire.h"

namespace tandem::server {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace

std::vector<std::string> load_api_keys(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("server", "cannot read the API key file '" + path + "'");
  std::vector<std::string> keys;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view key = trimmed(line);
    if (key.empty() || key.front() == '#') continue;
    if (!std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; })) {
      throw Error("server", "API key file '" + path + "' line " + std::to_string(number) +
                                ": a key must be printable ASCII without blanks");
    }
    keys.emplace_back(key);
  }
  if (keys.empty()) {
    throw Error("server", "API key file '" + path + "' has no key; write one per line");
  }
  return keys;
}

bool KeyCheck::accepts(std::string_view authorization) const {
  if (!required()) return true;
  constexpr std::string_view kScheme = "Bearer ";
  if (!http::equals_ignoring_case(authorization.substr(0, kScheme.size()), kScheme)) return false;
  const std::string_view given = trimmed(authorization.substr(kScheme.size()));
  bool accepted = false;
  for (const std::string& key : keys_) accepted = equal_in_constant_time(given, key) || accepted;
  return accepted;
}

}  // namespace tandem::server
