// SPDX-License-Identifier: Apache-2.0
//
// Decodes each sequence and checks its value, which covers overlong forms and surrogates at once.
#include "server/openai/utf8.h"

#include <algorithm>
#include <cstdint>

namespace tandem::server::openai {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

bool is_valid_utf8(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[at]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || at + length > bytes.size()) return false;
    std::uint32_t value = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
      if (!is_continuation(bytes[at + i])) return false;
      value = value << 6 | (static_cast<unsigned char>(bytes[at + i]) & 0x3Fu);
    }
    if (length == 3 && (value < 0x800 || (value >= 0xD800 && value < 0xE000))) return false;
    if (length == 4 && (value < 0x10000 || value > 0x10FFFF)) return false;
    at += length;
  }
  return true;
}

std::size_t count_code_points(std::string_view bytes) {
  return static_cast<std::size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](char c) { return !is_continuation(c); }));
}

}  // namespace tandem::server::openai
