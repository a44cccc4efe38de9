// SPDX-License-Identifier: Apache-2.0
//
// Sources of the header's forms: RFC 6750 section 2.1, RFC 7617; names of schemes are
// case-insensitive.
#include "server/access/key_store.h"

#include <openssl/crypto.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <utility>

#include "common/text_parts.h"
#include "server/http/wire.h"

namespace tandem::server {
namespace {

// What follows the scheme, without blanks; empty when the header is of another scheme.
std::string_view after_scheme(std::string_view authorization, std::string_view scheme) {
  if (!http::equals_ignoring_case(authorization.substr(0, scheme.size()), scheme)) return {};
  return trimmed(authorization.substr(scheme.size()), " \t");
}

// Empty when the text is no base64 (RFC 4648).
std::string base64_decoded(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string decoded;
  std::uint32_t bits = 0;
  int num_bits = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return {};
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    decoded += static_cast<char>(bits >> num_bits & 0xFF);
  }
  return decoded;
}

// The key of "Bearer KEY", or of "Basic BASE64" with "NAME:KEY"; else empty.
std::string given_key(std::string_view authorization) {
  const std::string_view bearer = after_scheme(authorization, "Bearer ");
  if (!bearer.empty()) return std::string(bearer);
  const std::string pair = base64_decoded(after_scheme(authorization, "Basic "));
  const std::size_t colon = pair.find(':');
  return colon == std::string::npos ? std::string() : pair.substr(colon + 1);
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
  const std::string given = given_key(authorization);
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
