// SPDX-License-Identifier: Apache-2.0
//
// HLS pragmas: their kind, options and values, however they are written.
#include "bitstreams/compiler/dataflow/hls_pragma.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem::xclbin {
namespace {

TEST(HlsPragma, IsReadInAnySpacing) {
  const HlsPragma pragma =
      parse_hls_pragma("#pragma HLS Stream variable = a depth=4 OFF type =fifo");
  EXPECT_EQ(pragma.kind, "stream");
  EXPECT_EQ(pragma.value("variable"), "a");
  EXPECT_EQ(pragma.value("depth"), "4");
  EXPECT_EQ(pragma.value("type"), "fifo");
  EXPECT_EQ(pragma.value("off"), "");
  EXPECT_EQ(pragma.options.size(), 4u);
  EXPECT_TRUE(parse_hls_pragma("#pragma once").kind.empty());
  EXPECT_TRUE(parse_hls_pragma("").kind.empty());
  EXPECT_TRUE(parse_hls_pragma("#pragma HLS").kind.empty());
  EXPECT_EQ(parse_hls_pragma("#pragma HLS stream = = variable =").value("variable"), "");
}

TEST(HlsPragma, AValueMayHaveBracketsBlanksAndOperators) {
  const auto depth = [](const std::string& text) {
    const HlsPragma pragma =
        parse_hls_pragma("#pragma HLS stream depth" + text + " variable=s off");
    EXPECT_EQ(pragma.value("variable"), "s") << text;
    EXPECT_EQ(pragma.options.back().first, "off") << text;
    EXPECT_EQ(pragma.options.size(), 3u) << text;
    return pragma.value("depth");
  };
  EXPECT_EQ(depth("=(4 * 8)"), "(4 * 8)");
  EXPECT_EQ(depth(" = ( N == 4 ) "), "( N == 4 )");
  EXPECT_EQ(depth("= a[ (1) ].b"), "a[ (1) ].b");
  EXPECT_EQ(depth("=4 * 8"), "4*8");
  EXPECT_EQ(depth("=4* 8 +N"), "4*8+N");
  EXPECT_EQ(depth("=4 / (2 * N)"), "4/(2 * N)");
  EXPECT_EQ(depth("=4 % -2"), "4%-2");
  // A bracket without its partner is a letter.
  EXPECT_EQ(depth("=(4"), "(4");
  EXPECT_EQ(depth("=4)"), "4)");
}

}  // namespace
}  // namespace tandem::xclbin
