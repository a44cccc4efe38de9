// SPDX-License-Identifier: Apache-2.0
//
// xml_text: escapes a text for the inside of an XML element.
//
// Pure; threads: any.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

inline std::string xml_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace tandem
