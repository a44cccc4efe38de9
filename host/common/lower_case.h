// SPDX-License-Identifier: Apache-2.0
//
// ASCII letters in lower case, for words that are compared without regard to case. Other bytes stay
// as they are.
#pragma once

#include <string>

namespace tandem {

inline std::string lower_case(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

}  // namespace tandem
