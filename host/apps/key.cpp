// SPDX-License-Identifier: Apache-2.0
//
// `tandem key`: makes an API key and the entry of the key file that holds its hash.
//
// The entry goes to standard output, to be appended to the file; the key itself goes to standard
// error, so that it does not get there.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/command.h"
#include "common/error.h"
#include "server/auth.h"

namespace tandem::apps {
namespace {

struct KeyOptions {
  std::string name;
  std::vector<std::string> roles = {"use"};
  bool from_stdin = false;
  bool as_json = false;
};

std::string key_from_stdin() {
  std::string key;
  std::getline(std::cin, key);
  if (!key.empty() && key.back() == '\r') key.pop_back();
  for (const char c : key) {
    if (c <= ' ' || c >= '\x7f') {
      throw Error("key", "a key must be printable ASCII without blanks");
    }
  }
  if (key.empty()) throw Error("key", "standard input has no key in its first line");
  return key;
}

void make_key(const KeyOptions& o) {
  if (!server::is_key_name(o.name)) {
    throw Error("key", "a name has 1 to 64 letters, digits, '.', '_' or '-', and is not 'other'");
  }
  const std::string key = o.from_stdin ? key_from_stdin() : server::random_key();
  const std::string hash = "sha256:" + server::hex_text(server::hash_key(key));
  // one alone is a text, as in a key file; several are a list, which TOML writes as JSON does
  const auto role = o.roles.size() == 1 ? nlohmann::ordered_json(o.roles.front())
                                        : nlohmann::ordered_json(o.roles);
  if (o.as_json) {
    nlohmann::ordered_json result = {{"name", o.name}, {"role", role}, {"hash", hash}};
    if (!o.from_stdin) result["key"] = key;
    fmt::print("{}\n", result.dump());
    return;
  }
  if (!o.from_stdin) {
    fmt::print(stderr, "the key, which nothing stores: {}\n", key);
  }
  fmt::print("[[key]]\nname = \"{}\"\nhash = \"{}\"\nrole = {}\n", o.name, hash, role.dump());
}

}  // namespace

void add_key(CLI::App& app) {
  CLI::App* command = app.add_subcommand("key", "Make an API key and its entry of the key file");
  auto o = std::make_shared<KeyOptions>();
  command->add_option("--name", o->name, "who uses it; metrics and the log show this name")
      ->required();
  command->add_option("--role", o->roles, "what the key may do; several roles: --role use metrics")
      ->check(CLI::IsMember({"use", "metrics", "admin"}))
      ->capture_default_str();
  command->add_flag("--stdin", o->from_stdin,
                    "read the key from standard input instead of making one");
  command->add_flag("--json", o->as_json, "print one JSON object");
  command->callback([o] { make_key(*o); });
}

}  // namespace tandem::apps
