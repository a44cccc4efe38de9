// SPDX-License-Identifier: Apache-2.0
//
// Reads the tables with toml++. Every field is checked, and an unknown field is an error.
#include "server/access/key_tables.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "common/error.h"
#include "common/suggestion.h"
#include "server/generation_service.h"

namespace tandem::server {
namespace {

constexpr std::array<std::string_view, 9> kFields = {"name",
                                                     "hash",
                                                     "role",
                                                     "requests-per-minute",
                                                     "tokens-per-minute",
                                                     "concurrent-requests",
                                                     "max-choices",
                                                     "max-tokens",
                                                     "best-priority"};

class TableReader {
 public:
  TableReader(const toml::table& table, const std::string& path) : table_(table), path_(path) {}

  PlacedKey read() const {
    for (const auto& [field, node] : table_) {
      if (std::find(kFields.begin(), kFields.end(), field.str()) != kFields.end()) continue;
      if (field.str() == "key") {
        fail(node,
             "a table holds no key itself: store its hash, which `tandem key --stdin` prints");
      }
      fail(node,
           "unknown field '" + std::string(field.str()) + "'" + suggestion(field.str(), kFields));
    }
    PlacedKey result;
    result.line = line_of(table_);
    result.key.name = name();
    result.key.hash = hash();
    result.key.roles = roles();
    result.key.limits = limits();
    return result;
  }

 private:
  [[noreturn]] void fail(const toml::node& at, const std::string& problem) const {
    fail_key_file(path_, line_of(at), problem);
  }

  static int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

  std::string text(const char* field) const {
    const toml::node* node = table_.get(field);
    if (node == nullptr) fail(table_, "this key lacks '" + std::string(field) + "'");
    if (!node->is_string()) fail(*node, "'" + std::string(field) + "' must be a string");
    return node->as_string()->get();
  }

  std::string name() const {
    std::string value = text("name");
    if (!is_key_name(value)) {
      fail(*table_.get("name"),
           "a name has 1 to 64 letters, digits, '.', '_' or '-', and is not 'other'");
    }
    return value;
  }

  KeyHash hash() const {
    const auto value = parse_key_hash(text("hash"));
    if (!value) {
      fail(*table_.get("hash"),
           "'hash' must be \"sha256:\" and 64 hexadecimal digits; `tandem key` prints it");
    }
    return *value;
  }

  unsigned role_bit(const toml::node& node) const {
    const std::string value = node.is_string() ? node.as_string()->get() : std::string();
    if (value == "use") return static_cast<unsigned>(Role::kUse);
    if (value == "metrics") return static_cast<unsigned>(Role::kMetrics);
    if (value == "admin") return static_cast<unsigned>(Role::kAdmin);
    fail(node, "'role' must be \"use\", \"metrics\", \"admin\", or an array of them");
  }

  unsigned roles() const {
    const toml::node* node = table_.get("role");
    if (node == nullptr) return static_cast<unsigned>(Role::kUse);
    const toml::array* several = node->as_array();
    if (several == nullptr) return role_bit(*node);
    unsigned result = 0;
    for (const toml::node& each : *several) result |= role_bit(each);
    if (result == 0) fail(*node, "'role' must not be empty");
    return result;
  }

  template <typename T>
  void limit(const char* field, T& to) const {
    const toml::node* node = table_.get(field);
    if (node == nullptr) return;
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    const std::int64_t value = node->is_integer() ? node->as_integer()->get() : 0;
    if (value < 1 || value > kMost) {
      fail(*node, "'" + std::string(field) + "' must be an integer from 1 to " +
                      std::to_string(kMost) + "; leave it out for no limit");
    }
    to = static_cast<T>(value);
  }

  std::optional<int> best_priority() const {
    const toml::node* node = table_.get("best-priority");
    if (node == nullptr) return std::nullopt;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < -kWorstPriority || *value > kWorstPriority) {
      fail(*node, "'best-priority' must be an integer from -" + std::to_string(kWorstPriority) +
                      " to " + std::to_string(kWorstPriority));
    }
    return static_cast<int>(*value);
  }

  KeyLimits limits() const {
    KeyLimits result;
    limit("requests-per-minute", result.requests_per_minute);
    limit("tokens-per-minute", result.tokens_per_minute);
    limit("concurrent-requests", result.concurrent_requests);
    limit("max-choices", result.max_choices);
    limit("max-tokens", result.max_tokens);
    result.best_priority = best_priority();
    return result;
  }

  const toml::table& table_;
  const std::string& path_;
};

}  // namespace

std::vector<PlacedKey> read_key_tables(const std::string& text, const std::string& path) {
  toml::table document;
  try {
    document = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    // The parser's own text may quote the file, and a key would get into the log.
    fail_key_file(path, static_cast<int>(error.source().begin.line), "this is not valid TOML");
  }
  std::vector<PlacedKey> result;
  for (const auto& [field, node] : document) {
    const toml::array* tables = node.as_array();
    if (field.str() != "key" || tables == nullptr || !tables->is_homogeneous<toml::table>()) {
      fail_key_file(path, static_cast<int>(node.source().begin.line),
                    "only [[key]] tables are known here, not '" + std::string(field.str()) + "'");
    }
    for (const toml::node& table : *tables) {
      result.push_back(TableReader(*table.as_table(), path).read());
    }
  }
  return result;
}

}  // namespace tandem::server
