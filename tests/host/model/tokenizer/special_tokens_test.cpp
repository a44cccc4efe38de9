// SPDX-License-Identifier: Apache-2.0
//
// Special tokens by themselves: which texts begin one, and which one counts.
#include "model/tokenizer/special_tokens.h"

#include <gtest/gtest.h>

namespace tandem::model {
namespace {

SpecialTokens some_specials() {
  SpecialTokens tokens;
  tokens.add("<user>", 7, false);
  tokens.add("<user>end", 8, true);
  tokens.add("<s>", 9, true);
  return tokens;
}

TEST(SpecialTokens, OnlyAControlTokenBeginsControl) {
  const SpecialTokens tokens = some_specials();
  EXPECT_TRUE(tokens.control_begins("<s> and more"));
  EXPECT_TRUE(tokens.control_begins("<user>end"));
  EXPECT_FALSE(tokens.control_begins("<user>")) << "text may hold it";
  EXPECT_FALSE(tokens.control_begins("<user>other"));
  EXPECT_FALSE(tokens.control_begins("<s"));
  EXPECT_FALSE(tokens.control_begins(""));
}

TEST(SpecialTokens, TheLongestOneThatMayStandIsTaken) {
  const SpecialTokens tokens = some_specials();
  const auto with = tokens.split("a<user>end", true), without = tokens.split("a<user>end", false);
  ASSERT_EQ(with.size(), 2u);
  EXPECT_EQ(with[1].special, 8);
  ASSERT_EQ(without.size(), 3u);
  EXPECT_EQ(without[1].special, 7);
  EXPECT_EQ(without[2].text, "end");
}

}  // namespace
}  // namespace tandem::model
