// SPDX-License-Identifier: Apache-2.0
//
// counted(): a number with its noun: "1 key", "2 keys".
//
// Only for nouns whose plural ends in s. Pure; threads: any.
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
