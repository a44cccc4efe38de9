// SPDX-License-Identifier: Apache-2.0
//
// The findings in the file that TANDEM_CARD_REPORT names. Threads: one.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace tandem::fpga_test {

// The lines that the report has now, and removes them.
inline std::string take_report() {
  const char* const name = std::getenv("TANDEM_CARD_REPORT");
  std::ifstream in(name);
  std::string lines, line;
  while (std::getline(in, line)) lines += line + "\n";
  std::remove(name);
  return lines;
}

inline int count_of(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace tandem::fpga_test
