// SPDX-License-Identifier: Apache-2.0
//
// Puts the declarations that marks use before the source, as if a system header were included
// there. So findings name the user's lines, not these. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace tandem::vpp {

// `text`: preprocessed C++, whose first line marker names the source.
inline std::string with_declarations(std::string_view text, std::string_view declarations) {
  const size_t found = text.starts_with("# 1 \"") ? 0 : text.find("\n# 1 \"");
  if (found == std::string_view::npos) return std::string(declarations).append(text);
  const size_t marker = found == 0 ? 0 : found + 1;
  const size_t end = std::min(text.find('\n', marker), text.size());
  std::string out(text.substr(0, end));
  out.append("\n# 1 \"tandem_marks.h\" 1 3\n").append(declarations);
  return out.append(text.substr(marker, end - marker)).append(" 2").append(text.substr(end));
}

}  // namespace tandem::vpp
