// SPDX-License-Identifier: Apache-2.0
//
// ScratchPath: a path for one test to write at, removed with its owner.
//
// No other process has the same: test programs of one tree run side by side, each case in a process
// of its own. Numbered within the process. Threads: any.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

namespace tandem::test {

class ScratchPath {
 public:
  // `name` ends the path, so an extension may be part of it. Nothing is made there.
  explicit ScratchPath(const std::string& name) {
    static std::atomic<int> number{0};
    path_ = std::filesystem::temp_directory_path() /
            ("tandem-" + std::to_string(::getpid()) + "-" + std::to_string(number++) + "-" + name);
    std::filesystem::remove_all(path_);
  }
  ~ScratchPath() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchPath(const ScratchPath&) = delete;
  ScratchPath& operator=(const ScratchPath&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace tandem::test
