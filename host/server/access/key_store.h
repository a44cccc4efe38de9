// SPDX-License-Identifier: Apache-2.0
//
// KeyStore: the API keys that are valid now. It finds a request's key, and reads the key file again
// on demand.
//
// The given key is hashed and compared with every hash in constant time, so response times reveal
// nothing about the keys. A reload replaces the whole set. A request in progress keeps its key, and
// each name keeps its usage. Threads: any.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "server/access/key_usage.h"
#include "server/auth.h"

namespace tandem::server {

// A key and its usage.
struct Caller {
  std::shared_ptr<const ApiKey> key;  // null: no key
  std::shared_ptr<KeyUsage> usage;
  explicit operator bool() const { return key != nullptr; }
};

class KeyStore {
 public:
  // Without keys no request needs one, and this never changes. `file`: the source of the keys;
  // empty: reload() does nothing.
  KeyStore(std::vector<ApiKey> keys, std::string file, const Clock& clock = real_clock());

  bool required() const { return required_; }

  // `authorization`: the header's value ("Bearer KEY", or from a browser "Basic ..." with any name
  // and the key as password).
  Caller find(std::string_view authorization) const;

  // Throws the errors of load_api_keys(); the keys then do not change. Logs its warning. Returns
  // the number of keys.
  std::size_t reload();

 private:
  struct Entry {
    ApiKey key;
    std::shared_ptr<KeyUsage> usage;
  };
  using Entries = std::vector<Entry>;

  void put(std::vector<ApiKey> keys);

  const bool required_;
  const std::string file_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<const Entries> entries_;
  std::map<std::string, std::shared_ptr<KeyUsage>> usage_;  // by name
};

}  // namespace tandem::server
