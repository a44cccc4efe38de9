// SPDX-License-Identifier: Apache-2.0
//
// Source of the header's form: RFC 6750 section 2.1; the scheme's name is case-insensitive.
#include "server/access/key_store.h"

#include <openssl/crypto.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "server/http/wire.h"

namespace tandem::server {
namespace {

// The key of "Bearer KEY"; empty when the header is none of that form.
std::string_view bearer_key(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!http::equals_ignoring_case(authorization.substr(0, kScheme.size()), kScheme)) return {};
  const std::string_view rest = authorization.substr(kScheme.size());
  const std::size_t first = rest.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return rest.substr(first, rest.find_last_not_of(" \t") - first + 1);
}

}  // namespace

KeyStore::KeyStore(std::vector<ApiKey> keys, std::string file, const Clock& clock)
    : required_(!keys.empty()), file_(std::move(file)), clock_(clock) {
  put(std::move(keys));
}

Caller KeyStore::find(std::string_view authorization) const {
  std::shared_ptr<const Entries> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  const std::string_view given = bearer_key(authorization);
  if (given.empty()) return {};
  const KeyHash hash = hash_key(given);
  const Entry* found = nullptr;
  for (const Entry& entry : *entries) {
    if (CRYPTO_memcmp(entry.key.hash.data(), hash.data(), hash.size()) == 0) found = &entry;
  }
  if (found == nullptr) return {};
  return {std::shared_ptr<const ApiKey>(entries, &found->key), found->usage};
}

std::size_t KeyStore::reload() {
  if (!required_ || file_.empty()) return 0;
  LoadedKeys loaded = load_api_keys(file_);
  if (!loaded.warning.empty()) spdlog::warn("[server] {}", loaded.warning);
  const std::size_t count = loaded.keys.size();
  put(std::move(loaded.keys));
  return count;
}

void KeyStore::put(std::vector<ApiKey> keys) {
  auto entries = std::make_shared<Entries>();
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::shared_ptr<KeyUsage>> kept;
  for (ApiKey& key : keys) {
    auto& usage = kept[key.name];
    const auto before = usage_.find(key.name);
    usage = before != usage_.end() ? before->second : std::make_shared<KeyUsage>(clock_);
    entries->push_back({std::move(key), usage});
  }
  usage_ = std::move(kept);
  entries_ = std::move(entries);
}

}  // namespace tandem::server
