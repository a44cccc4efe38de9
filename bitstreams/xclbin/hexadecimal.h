// SPDX-License-Identifier: Apache-2.0
//
// Formats addresses and identifiers as in xclbin metadata and reports: 0x followed by lower-case
// digits.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace tandem::xclbin {

inline std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace tandem::xclbin
