// SPDX-License-Identifier: Apache-2.0
//
// API keys: reads the key file, and checks a request's Authorization header.
//
// Every key is compared, and in constant time for keys of one length, so that timing reveals only
// lengths. Threads: immutable after construction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::server {

// One key per line; blank lines and lines that begin with '#' are skipped. Throws
// Error("server", ...) naming file and line when the file cannot be read, when a key has blanks or
// control characters, or when there is no key (an empty file must not open the server).
std::vector<std::string> load_api_keys(const std::string& path);

class KeyCheck {
 public:
  explicit KeyCheck(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  bool required() const { return !keys_.empty(); }

  // `authorization`: the header's value ("Bearer KEY"). Also true when no key is required.
  bool accepts(std::string_view authorization) const;

 private:
  std::vector<std::string> keys_;
};

}  // namespace tandem::server
