// SPDX-License-Identifier: Apache-2.0
//
// Only the owner can read it, as a key file should be.
#include "host/server/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "server/auth.h"

namespace tandem::test {

KeyFile::KeyFile(const std::string& text) {
  static std::atomic<int> count{0};
  path_ = (std::filesystem::temp_directory_path() /
           ("tandem_keys_" + std::to_string(getpid()) + "_" + std::to_string(count++)))
              .string();
  write(text);
  chmod(path_.c_str(), 0600);
}

KeyFile::~KeyFile() { std::remove(path_.c_str()); }

void KeyFile::write(const std::string& text) const { std::ofstream(path_) << text; }

std::string bearer(const std::string& key) { return "Authorization: Bearer " + key + "\r\n"; }

std::string key_table(const std::string& name, const std::string& key, const std::string& more) {
  return "[[key]]\nname = \"" + name +
         "\"\nhash = \"sha256:" + server::hex_text(server::hash_key(key)) + "\"\n" + more + "\n";
}

}  // namespace tandem::test
