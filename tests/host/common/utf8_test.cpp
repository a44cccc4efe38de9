// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 sequences against an enumeration of all well-formed ones.
#include "common/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace {

std::string encoded(unsigned code) {
  std::string out;
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6), put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
  }
  return out;
}

TEST(Utf8, AcceptsEveryCodePointButSurrogates) {
  for (unsigned code = 0; code <= 0x10ffff; ++code) {
    const std::string text = encoded(code);
    const Utf8Sequence sequence = next_utf8(text + "x");
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    ASSERT_EQ(sequence.valid, !surrogate) << code;
    if (!surrogate) {
      ASSERT_EQ(sequence.length, text.size()) << code;
    }
  }
}

TEST(Utf8, CallsEveryProperPrefixIncomplete) {
  for (const unsigned code : {0x80u, 0x7ffu, 0x800u, 0xffffu, 0x10000u, 0x10ffffu}) {
    const std::string text = encoded(code);
    for (std::size_t size = 1; size < text.size(); ++size) {
      const Utf8Sequence sequence = next_utf8(text.substr(0, size));
      EXPECT_TRUE(sequence.incomplete);
      EXPECT_FALSE(sequence.valid);
      EXPECT_EQ(sequence.length, size);
    }
  }
}

TEST(Utf8, RefusesOverlongFormsAndStrayBytes) {
  for (const char* text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5", "\xff", "\xed\xa0\x80"}) {
    const Utf8Sequence sequence = next_utf8(text);
    EXPECT_FALSE(sequence.valid);
    EXPECT_FALSE(sequence.incomplete);
    EXPECT_EQ(sequence.length, 1u);
  }
  // A sequence broken off by another character ends where it was broken.
  EXPECT_EQ(next_utf8("\xf0\x9f\x92x").length, 3u);
}

TEST(Utf8, AcceptsWholeSequencesOnly) {
  for (const char* good : {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x99\x82", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_valid_utf8(good)) << good;
  }
  for (const char* bad :
       {"\xc3", "\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x82", "a\xff"}) {
    EXPECT_FALSE(is_valid_utf8(bad));
  }
}

TEST(Utf8, CountsCodePoints) {
  EXPECT_EQ(count_code_points("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"), 4u);
  EXPECT_EQ(count_code_points("\x82\xac"), 0u);
}

}  // namespace
}  // namespace tandem
