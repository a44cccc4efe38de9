// SPDX-License-Identifier: Apache-2.0
//
// Where tests find real models and vectors that are not part of the repository.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/tree.h"

namespace tandem::test {

inline std::filesystem::path shared_models() { return source_dir() / ".." / "shared" / "models"; }

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace tandem::test

// Skips the test where the file is absent.
#define TANDEM_REQUIRE_FILE(path)                                                   \
  do {                                                                              \
    if (!std::filesystem::exists(path)) {                                           \
      GTEST_SKIP() << (path).string() << " is absent: it is not in the repository"; \
    }                                                                               \
  } while (0)
