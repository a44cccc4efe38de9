// SPDX-License-Identifier: Apache-2.0
//
// The C++ compiler of the machine that runs the tests; empty: there is none.
#pragma once

#include <unistd.h>

#include <string>

namespace tandem::sparse::test {

inline std::string machine_compiler() {
  for (const char* path : {"/usr/bin/c++", "/usr/bin/g++", "/usr/bin/clang++"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return "";
}

}  // namespace tandem::sparse::test
