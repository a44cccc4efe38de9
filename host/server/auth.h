// SPDX-License-Identifier: Apache-2.0
//
// API keys: reading the key file, and checking a request's Authorization header against it.
//
// A comparison takes the same time wherever two keys of one length begin to differ, and all keys
// are compared, so timing tells nothing but lengths. Threads: immutable after construction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::server {

// One key per line; blank lines and lines that begin with '#' are skipped. Throws
// Error("server", ...) naming file and line when the file cannot be read, a key has blanks or
// control characters, or there is no key at all (an empty file must not mean an open server).
std::vector<std::string> load_api_keys(const std::string& path);

class KeyCheck {
 public:
  explicit KeyCheck(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  bool required() const { return !keys_.empty(); }

  // `authorization`: the header's value ("Bearer KEY"). True as well when no key is required.
  bool accepts(std::string_view authorization) const;

 private:
  std::vector<std::string> keys_;
};

}  // namespace tandem::server
