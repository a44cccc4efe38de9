// SPDX-License-Identifier: Apache-2.0
//
// Makes untrusted text safe for messages.
#include "model/loader/printable.h"

namespace tandem::model {

std::string printable(std::string_view text) {
  constexpr std::size_t kMaxBytes = 80;
  std::string out;
  for (const char c : text.substr(0, kMaxBytes)) {
    out += c >= 0x20 && c < 0x7f ? c : '?';
  }
  if (text.size() > kMaxBytes) out += "...";
  return out;
}

}  // namespace tandem::model
