// SPDX-License-Identifier: Apache-2.0
//
// A text several times over, for templates that nest deep.
#pragma once

#include <string>

namespace tandem::model {

inline std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace tandem::model
