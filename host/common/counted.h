// SPDX-License-Identifier: Apache-2.0
//
// counted(): a number of things as people write it: "1 key", "2 keys".
//
// For nouns whose plural has an s. Pure; threads: any.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace tandem {

inline std::string counted(std::integral auto count, std::string_view thing) {
  std::string text = std::to_string(count) + " ";
  text += thing;
  if (count != 1) text += 's';
  return text;
}

}  // namespace tandem
