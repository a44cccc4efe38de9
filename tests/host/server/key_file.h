// SPDX-License-Identifier: Apache-2.0
//
// A key file in the temporary folder, for tests. It is removed at the end.
#pragma once

#include <string>

namespace tandem::test {

class KeyFile {
 public:
  explicit KeyFile(const std::string& text);
  ~KeyFile();
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& text) const;

 private:
  std::string path_;
};

// The header that sends a key.
std::string bearer(const std::string& key);

// A [[key]] table; `more`: further lines.
std::string key_table(const std::string& name, const std::string& key,
                      const std::string& more = {});

}  // namespace tandem::test
